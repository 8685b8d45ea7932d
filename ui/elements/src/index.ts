// The entry point: registers the bell at once, and the other elements after the first paint.

import { parts, TidingsBell } from './bell.ts';
import { define } from './define.ts';
import type { TidingsInbox } from './inbox.ts';
import type { TidingsPreferences } from './preferences.ts';

export type * from '../../client/src/types.ts';
export { Tidings } from '../../client/src/index.ts';
export type { Texts } from './texts.ts';
export type { TidingsInbox, TidingsPreferences };
export { TidingsBell };

declare global {
  interface HTMLElementTagNameMap {
    'tidings-bell': TidingsBell;
    'tidings-inbox': TidingsInbox;
    'tidings-preferences': TidingsPreferences;
  }
}

if (globalThis.customElements) {
  define('tidings-bell', TidingsBell);
  const wanted = () => void parts().catch(() => {});
  if (document.querySelector('tidings-inbox, tidings-preferences')) wanted();
  else if ('requestIdleCallback' in globalThis) requestIdleCallback(wanted, { timeout: 3000 });
  else setTimeout(wanted, 500);
}
