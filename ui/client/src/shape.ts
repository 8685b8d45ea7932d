// Whether what comes from elsewhere in this browser (another tab, what was stored) is what it should be: another version of this
// package, or another script of the page, may have written it.

import type { CountsFragment } from './operations.js';
import type { Message } from './tabs.js';
import type { Item } from './types.js';

type Shape = 'string' | 'boolean' | 'number' | 'any' | readonly Shape[] | { readonly [field: string]: Shape };

/** Whether a value fits: a list of one shape is of such, one of several is one of these, and `any` is anything at all. */
function fits(value: unknown, shape: Shape): boolean {
  if (shape === 'any') return true;
  if (typeof shape === 'string') return typeof value === shape;
  if (Array.isArray(shape)) {
    if (shape.length > 1) return shape.some((one) => (one === 'any' ? value === null : fits(value, one)));
    return Array.isArray(value) && value.every((one) => fits(one, shape[0]!));
  }
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(shape).every(([field, of]) => fits((value as Record<string, unknown>)[field], of));
}

const orNull = (shape: Shape): Shape => [shape, 'any'];
const COUNT: Shape = { count: 'number', exact: 'boolean' };
const TYPE: Shape = { code: 'string', title: 'string' };

const COUNTS: Shape = {
  cursor: 'string',
  unread: COUNT,
  types: [{ type: TYPE, unread: COUNT, latest: orNull({ title: 'string', createdAt: 'string' }) }],
};

const NODE: Shape = {
  id: 'string',
  notificationId: 'string',
  kind: 'string',
  type: TYPE,
  title: 'string',
  body: orNull('string'),
  link: orNull('string'),
  createdAt: 'string',
  isRead: 'boolean',
  isArchived: 'boolean',
  sender: orNull({ id: 'string', name: orNull('string'), avatarUrl: orNull('string') }),
};

const ENTRY: Shape = { cursor: 'string', node: NODE };
const ITEMS: Shape = [{ cursor: 'string', ...NODE }];

/** By their kinds. */
const MESSAGES: Record<string, Shape> = {
  overview: { overview: COUNTS, cursor: 'string' },
  item: { item: ENTRY },
  hello: {},
  touched: {},
  out: {},
};

export const isCounts = (value: unknown): value is CountsFragment => fits(value, COUNTS);
export const isItems = (value: unknown): value is Item[] => fits(value, ITEMS);
export const isMessage = (value: any): value is Message => Object.hasOwn(MESSAGES, value?.kind) && fits(value, MESSAGES[value.kind]!);
