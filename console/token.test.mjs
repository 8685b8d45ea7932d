// Which token is used after following a link.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { linked } from './src/token.js';

test('a link only offers its token, to callers with another and to those with none', () => {
  assert.deepEqual(linked({ token: '', offered: null }, 'new'), { token: '', offered: 'new' });
  assert.deepEqual(linked({ token: 'own', offered: null }, 'new'), { token: 'own', offered: 'new' });
  assert.deepEqual(linked({ token: 'own', offered: 'new' }, 'newer'), { token: 'own', offered: 'newer' });
});

test('a link with the same token, or with none, changes nothing', () => {
  for (const token of ['own', '', null]) {
    assert.deepEqual(linked({ token: 'own', offered: null }, token), { token: 'own', offered: null });
  }
});
