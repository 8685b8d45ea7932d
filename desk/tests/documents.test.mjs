// Validates every document of the page, static or generated, against the schema.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { buildSchema, parse, validate } from 'graphql';

import * as documents from '../src/documents.js';

const schema = buildSchema(await readFile(new URL('../../schema.graphql', import.meta.url), 'utf8'));
const MARKS = ['markRead', 'markUnread', 'archiveItems', 'unarchiveItems', 'deleteItems'];

for (const [name, document] of Object.entries(documents)) {
  test(name, () => {
    const texts = typeof document === 'string' ? [document] : MARKS.map(document);
    for (const text of texts) assert.deepEqual(validate(schema, parse(text)).map(String), []);
  });
}
