// Converts wall-clock times of zones, also around clock changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { instant, wall } from '../src/time.js';

test('a wall time is an instant of its zone', () => {
  for (const [text, zone, expected] of [
    ['2026-12-01T09:30', 'UTC', '2026-12-01T09:30:00.000Z'],
    ['2026-12-01T09:30', 'Europe/Berlin', '2026-12-01T08:30:00.000Z'],
    ['2026-07-01T09:30', 'Europe/Berlin', '2026-07-01T07:30:00.000Z'],
    ['2026-12-01T09:30', 'Asia/Kolkata', '2026-12-01T04:00:00.000Z'],
    ['2026-12-01T09:30', 'Pacific/Kiritimati', '2026-11-30T19:30:00.000Z'],
    ['2026-12-01T09:30', 'Pacific/Pago_Pago', '2026-12-01T20:30:00.000Z'],
    ['2026-12-01T00:00', 'America/New_York', '2026-12-01T05:00:00.000Z'],
    // Clocks go back at 03:00: the earlier of the two.
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    // Clocks go forward at 02:00: this time does not exist.
    ['2026-03-29T02:30', 'Europe/Berlin', null],
    ['', 'Europe/Berlin', null],
  ])
    assert.equal(instant(text, zone), expected, `${text} ${zone}`);
});

test('what clocks show comes back as the same instant', () => {
  for (const zone of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Australia/Lord_Howe'])
    for (const at of ['2026-01-15T12:00:00.000Z', '2026-07-15T23:45:00.000Z'])
      assert.equal(instant(wall(Date.parse(at), zone), zone), at, zone);
});
