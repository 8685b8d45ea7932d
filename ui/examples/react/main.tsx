import { StrictMode } from 'react';
import { hydrateRoot } from 'react-dom/client';

import { App } from './app.js';

// Without server rendering: `createRoot(main).render(…)`.
hydrateRoot(
  document.querySelector('main')!,
  <StrictMode>
    <App />
  </StrictMode>,
);
