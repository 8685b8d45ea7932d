export type * from '@tidings/client';
export { Bell, Inbox, Preferences } from './elements.js';
export type { BellElement, BellProps, ElementProps, InboxProps, TidingsElement } from './elements.js';
export { useInbox, useMarks, useOnItem, useOnProblem, useOverview, usePreferences } from './hooks.js';
export type { InboxView, Marks, PreferencesView } from './hooks.js';
export { TidingsProvider, useTidings } from './provider.js';
export type { TidingsProviderProps } from './provider.js';
