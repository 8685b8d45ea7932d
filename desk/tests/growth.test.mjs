// The history of deliveries and reads that the page draws.

import assert from 'node:assert/strict';
import test from 'node:test';

import { growth, half, line } from '../src/growth.js';

const hour = (at, deliveredCount, readCount) => ({ at: `2026-11-21T${at}:00:00.000Z`, deliveredCount, readCount });
const at = (text) => Date.parse(`2026-11-21T${text}:00.000Z`);

test('counts grow from what was delivered at once to what they are now', () => {
  const of = { publishedAt: '2026-11-21T08:20:00.000Z', stats: { deliveredCount: 10, readCount: 5 }, statsByHour: [hour('08', 4, 1), hour('11', 2, 6), hour('12', 0, -2)] };
  const points = growth(of);
  assert.deepEqual(points, [
    { at: at('08:20'), delivered: 4, read: 0 },
    { at: at('09:00'), delivered: 8, read: 1 },
    { at: at('12:00'), delivered: 10, read: 7 },
    { at: at('13:00'), delivered: 10, read: 5 },
  ]);
  assert.equal(half(points), at('12:00'));
  assert.equal(line(points, 'delivered', 100, 40), '0.0,24.0 14.3,8.0 78.6,0.0 100.0,0.0');
});

test('there is nothing to draw before anything was counted, and no half of nobody', () => {
  const of = { publishedAt: '2026-11-21T08:20:00.000Z', stats: { deliveredCount: 1, readCount: 0 }, statsByHour: [] };
  assert.equal(growth(of), null);
  assert.equal(growth({ ...of, publishedAt: null, statsByHour: [hour('08', 1, 0)] }), null);
  assert.equal(half(growth({ ...of, statsByHour: [hour('08', 1, 0)] })), null);
});
