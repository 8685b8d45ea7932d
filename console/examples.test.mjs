// Every example must be valid against the server's own schema, and none may name what a tenant has.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';

import { buildSchema, parse, validate, visit } from 'graphql';

const read = (path) => readFile(new URL(path, import.meta.url), 'utf8');

const schema = buildSchema(await read('../schema.graphql'));
const list = await read('src/examples.js');
const files = await readdir(new URL('examples/', import.meta.url), { recursive: true });

for (const file of files.filter((file) => file.endsWith('.graphql'))) {
  const text = await read(`examples/${file}`);
  const document = parse(text);
  const [operation] = document.definitions;

  test(`${file} is valid`, () => {
    assert.deepEqual(validate(schema, document).map(String), []);
  });

  test(`${file} has one operation with a name, and is in the list`, () => {
    assert.deepEqual(document.definitions.map((definition) => Boolean(definition.name?.value)), [true]);
    assert.ok(list.includes(`'../examples/${file}'`), `src/examples.js does not list ${file}`);
  });

  test(`${file} changes only what it has made itself`, () => {
    if (operation.operation !== 'mutation') return;
    const named = [];
    // A code, an id, a key: what says which thing is meant.
    const isReference = (name) => /^(code|id|type|rule|sender|receiver|groups|users|types|action|actions|targetType)$/.test(name);
    const take = (node) => {
      if (!isReference(node.name.value)) return;
      const values = node.value.kind === 'ListValue' ? node.value.values : [node.value];
      named.push(...values.filter(({ kind }) => kind === 'StringValue').map(({ value }) => value));
    };
    visit(document, { Argument: take, ObjectField: take });
    assert.ok(named.length > 0, 'it names something');
    assert.deepEqual(named.filter((value) => !/^example-\w+-4f2a$/.test(value)), []);
    assert.doesNotMatch(text.replace(/#.*/g, ''), /everyone|matching: \{\}/, 'nor does it reach all');
  });
}

test('the first query reads, and takes any role', async () => {
  const { definitions } = parse(await read('examples/first.graphql'));
  assert.deepEqual(definitions.map(({ operation }) => operation), ['query']);
  const root = schema.getQueryType().getFields();
  for (const { name } of definitions[0].selectionSet.selections) assert.match(root[name.value].description, /Any role/);
});
