// The editor's content when the page opens.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { opening } from './src/tabs.js';

const first = { initialQuery: '{ messageTypes { code } }', initialVariables: '' };
const opens = (edited) => opening({ getItem: (key) => (key === 'graphiql:query' ? edited : null) }, first.initialQuery);

test('a page without anything kept, or that may keep nothing, opens with the first query', () => {
  assert.deepEqual(opening(null, first.initialQuery), first);
  for (const edited of [null, '']) assert.deepEqual(opens(edited), first);
});

test('a query and a subscription stay in the editor', () => {
  for (const edited of ['{ viewer { user { id } } }', 'subscription { itemReceived { cursor } }']) assert.deepEqual(opens(edited), {});
});

test('a mutation does not, wherever it stands', () => {
  for (const edited of [
    'mutation { markRead(select: { matching: {} }) { changedCount } }',
    '# Safe\n{ messageTypes { code } }\nmutation A { b }',
    '\uFEFFmutation{a}',
    'query A { b } mutation\nB { c }',
  ]) assert.deepEqual(opens(edited), first);
});
