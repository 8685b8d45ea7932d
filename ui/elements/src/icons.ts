// Line icons, 24 × 24, as paths.

import { svg, type TemplateResult } from 'lit-html';

import { BELL } from './bell.ts';

/** The icons of buttons. */
export const SIGNS = {
  all: 'm1.5 13 4 4L15 7M11 15.5l1.5 1.5L22.5 7',
  check: 'm4.5 12.5 5 5 10-11',
  unread: 'M4 6h16v12H4zm0 .5 8 6.5 8-6.5',
  archive: 'M3.5 5h17v4h-17zM5 9v10h14V9m-9 4h4',
  unarchive: 'M3.5 13v6h17v-6M12 4v10m-4-4 4 4 4-4',
  remove: 'M4.5 7h15M10 11v6m4-6v6M6 7l1 13h10l1-13M9 7V4h6v3',
  preferences: 'M4 7h9m5 0h2M4 17h2m5 0h9M13 7a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0M6 17a2.5 2.5 0 1 0 5 0 2.5 2.5 0 1 0-5 0',
  back: 'm14.5 5-7 7 7 7',
  close: 'm6 6 12 12M18 6 6 18',
  offline:
    'M3 3l18 18M8.5 16.5a5 5 0 0 1 6.5-.4M5 13a10 10 0 0 1 5-2.7M2 9.5a15 15 0 0 1 4.5-2.9M11 5a15 15 0 0 1 11 4.5M12 20h.01',
} as const;

/** The icon names that message types can use. Pages add more with the property `icons`. */
const NAMED: Record<string, string> = {
  bell: BELL,
  comment: 'M4 5h16v11h-9l-5 4v-4H4z',
  alert: 'M12 4 2.5 20h19zM12 10v4.5m0 3v.01',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 1 0 0-18m0 8v5.5m0-9v.01',
  user: 'M12 4a4 4 0 1 0 0 8 4 4 0 1 0 0-8M4.5 20.5a7.5 7.5 0 0 1 15 0',
  calendar: 'M4 6h16v14H4zm0 5h16M8 3.5v4m8-4v4',
  file: 'M6 3h8l4 4v14H6zm8 0v4h4',
  check: SIGNS.check,
};

export function sign(path: string): TemplateResult {
  return svg`<svg viewBox="0 0 24 24" aria-hidden="true"><path d=${path}></path></svg>` as TemplateResult;
}

/** An icon by name; the page's own icons take precedence. */
export function named(name: string, own: Record<string, string> | undefined): TemplateResult | undefined {
  const path = own && Object.hasOwn(own, name) ? own[name] : Object.hasOwn(NAMED, name) ? NAMED[name] : undefined;
  return path ? sign(path) : undefined;
}
