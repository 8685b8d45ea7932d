// Every prepared operation must be valid against the server's own schema, and open a tab.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';

import { buildSchema, parse, validate } from 'graphql';

/**
 * Operations that need what the schema does not have yet. They are held against the contract instead, where it is at
 * hand; the test fails when the schema has come to have what one needs, so that it is taken off this list.
 */
const NOT_YET = ['operator/amend', 'operator/retract', 'operator/schedule', 'operator/statistics'];

const read = (path) => readFile(new URL(path, import.meta.url), 'utf8');
const contract = new URL('../../shared/design/contract.graphql', import.meta.url);

const schema = buildSchema(await read('../schema.graphql'));
const promised = existsSync(contract) ? buildSchema(await readFile(contract, 'utf8')) : null;
const list = await read('src/operations.js');

for (const kind of ['operator', 'user']) {
  for (const file of await readdir(new URL(`operations/${kind}/`, import.meta.url))) {
    const name = `${kind}/${file.replace('.graphql', '')}`;
    const document = parse(await read(`operations/${kind}/${file}`));

    test(`${name} is valid`, () => {
      const errors = validate(schema, document).map(String);
      if (NOT_YET.includes(name)) {
        assert.notDeepEqual(errors, [], `${name} is valid by now: take it off NOT_YET`);
        if (promised) assert.deepEqual(validate(promised, document).map(String), []);
      } else {
        assert.deepEqual(errors, []);
      }
    });

    test(`${name} opens a tab with the name of its one operation`, () => {
      assert.deepEqual(document.definitions.map((definition) => Boolean(definition.name?.value)), [true]);
      assert.ok(list.includes(`'../operations/${kind}/${file}'`), `src/operations.js does not list ${file}`);
    });
  }
}
