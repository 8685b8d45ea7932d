import assert from 'node:assert/strict';
import { test } from 'node:test';

import { idsIn } from '../src/parts/ids.js';

test('ids are found in whatever people paste', () => {
  for (const [text, expected] of [
    ['', []],
    ['ada', ['ada']],
    ['ada, ben;chen  dara', ['ada', 'ben', 'chen', 'dara']],
    ['ada\nben\r\n\nada\n', ['ada', 'ben']],
    ['Ada Obi\nBen Weiss', ['Ada Obi', 'Ben Weiss']],
    ['name,id\nAda,ada\n"Weiss, Ben",ben', ['ada', 'ben']],
    ['ada;Ada Obi\nben;Ben', ['ada', 'ben']],
    ['\uFEFFuser_id\tname\nada\tAda', ['ada']],
    ['ada, ben\nchen', ['ada', 'ben', 'chen']],
    ['"a""b"\nc', ['a"b', 'c']],
  ])
    assert.deepEqual(idsIn(text), expected, JSON.stringify(text));
});
