// The entry point.

import './nonce.js';
import './workers.js';
import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import 'graphiql/graphiql.css';
import './console.css';

import { createRoot } from 'react-dom/client';

import { Console } from './console.jsx';

createRoot(document.getElementById('console')).render(<Console />);
