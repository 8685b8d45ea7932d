// The elements besides the bell: inbox and preferences.

// This import makes the bundler put the shared code into one file instead of two that load in sequence.
import './index.ts';

import { define } from './define.ts';
import { TidingsInbox } from './inbox.ts';
import { TidingsPreferences } from './preferences.ts';

export const preferences = define('tidings-preferences', TidingsPreferences);
export const inbox = define('tidings-inbox', TidingsInbox);
