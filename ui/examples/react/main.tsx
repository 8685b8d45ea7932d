import { StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';

import { App } from './app.js';

// Where no server renders it: `createRoot(main).render(…)`.
hydrateRoot(
  document.querySelector('main')!,
  <StrictMode>
    <App />
  </StrictMode>,
);
