// Validates data from other tabs and from storage: another version of this package or another script may have written
// it.

import type { CountsFragment } from './operations.js';
import type { Message } from './tabs.js';
import type { Item } from './types.js';

type Shape = 'string' | 'boolean' | 'number' | readonly [Shape] | { readonly [field: string]: Shape };

/** Whether a value has a shape. A list has elements of one shape; a field whose name ends in `?` may be null. */
function fits(value: any, shape: Shape): boolean {
  if (typeof shape === 'string') return typeof value === shape;
  if (Array.isArray(shape)) return Array.isArray(value) && value.every((one) => fits(one, shape[0]!));
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(shape).every(([field, of]) => {
    const [name, mayBeNull] = field.split('?');
    return (mayBeNull === '' && value[name!] === null) || fits(value[name!], of);
  });
}

const COUNT: Shape = { count: 'number', exact: 'boolean' };
const TYPE: Shape = { code: 'string', title: 'string' };

const COUNTS: Shape = {
  cursor: 'string',
  unread: COUNT,
  types: [{ type: TYPE, unread: COUNT, 'latest?': { title: 'string', createdAt: 'string' } }],
};

const NODE: Shape = {
  id: 'string',
  notificationId: 'string',
  kind: 'string',
  type: TYPE,
  title: 'string',
  'body?': 'string',
  'link?': 'string',
  createdAt: 'string',
  isRead: 'boolean',
  isArchived: 'boolean',
  'sender?': { id: 'string', 'name?': 'string', 'avatarUrl?': 'string' },
};

const ENTRY: Shape = { cursor: 'string', node: NODE };
const ITEMS: Shape = [{ cursor: 'string', ...NODE }];

/** Messages by kind. */
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
