// What the bell opens, and what a page may have without one.

// Everything that the entry has is in one file with this, instead of in two that wait for each other.
import './index.ts';

import { define } from './define.ts';
import { TidingsInbox } from './inbox.ts';
import { TidingsPreferences } from './preferences.ts';

export const preferences = define('tidings-preferences', TidingsPreferences);
export const inbox = define('tidings-inbox', TidingsInbox);
