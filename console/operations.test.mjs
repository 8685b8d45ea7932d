// Every prepared operation must be valid against the server's own schema, and open a tab.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';

import { buildSchema, parse, validate } from 'graphql';

const read = (path) => readFile(new URL(path, import.meta.url), 'utf8');

const schema = buildSchema(await read('../schema.graphql'));
const list = await read('src/operations.js');

for (const kind of ['operator', 'user']) {
  for (const file of await readdir(new URL(`operations/${kind}/`, import.meta.url))) {
    const name = `${kind}/${file.replace('.graphql', '')}`;
    const document = parse(await read(`operations/${kind}/${file}`));

    test(`${name} is valid`, () => {
      assert.deepEqual(validate(schema, document).map(String), []);
    });

    test(`${name} opens a tab with the name of its one operation`, () => {
      assert.deepEqual(document.definitions.map((definition) => Boolean(definition.name?.value)), [true]);
      assert.ok(list.includes(`'../operations/${kind}/${file}'`), `src/operations.js does not list ${file}`);
    });
  }
}
