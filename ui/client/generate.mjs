// Generates src/operations.ts: the documents of operations/, with types of variables and data from schema.graphql.
// `--check` only compares.

import { readFile, readdir, writeFile } from 'node:fs/promises';

import { codegen } from '@graphql-codegen/core';
import * as operations from '@graphql-codegen/typescript-operations';
import { Kind, parse, print, stripIgnoredCharacters, visit } from 'graphql';

const here = (path) => new URL(path, import.meta.url);
const FILE = here('src/operations.ts');

/** Each operation as a minified text, with the fragments that it uses, under its own name. */
const texts = {
  plugin(_schema, files) {
    const all = files.flatMap(({ document }) => document.definitions);
    const fragments = new Map(all.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).map((one) => [one.name.value, one]));
    const used = (of, found = new Set()) => {
      visit(of, {
        FragmentSpread({ name: { value } }) {
          if (!found.has(value)) used(fragments.get(value), found.add(value));
        },
      });
      return found;
    };
    return all.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).map((operation) => {
      const parts = [operation, ...[...used(operation)].map((name) => fragments.get(name))];
      const text = stripIgnoredCharacters(parts.map(print).join('\n'));
      const name = operation.name.value;
      const kind = operation.operation[0].toUpperCase() + operation.operation.slice(1);
      const types = `${name}${kind}, ${name}${kind}Variables`;
      return `export const ${name} = '${text.replaceAll("'", "\\'")}' as Document<${types}>;`;
    }).join('\n');
  },
};

const names = (await readdir(here('operations'))).sort();
const documents = await Promise.all(names.map(async (name) => {
  return { location: name, document: parse(await readFile(here(`operations/${name}`), 'utf8')) };
}));
const made = await codegen({
  schema: parse(await readFile(here('../../schema.graphql'), 'utf8')),
  documents,
  config: {
    scalars: { DateTime: 'string', JSON: 'unknown', ID: 'string' },
    skipTypename: true,
    enumType: 'string-literal',
    useTypeImports: true,
  },
  plugins: [{ operations: {} }, { texts: {} }],
  pluginMap: { operations, texts },
  filename: 'operations.ts',
});
const HEAD = "// Made by generate.mjs from operations/ and schema.graphql.\n\nimport type { Document } from './request.js';\n";
const text = `${HEAD}\n${made.replaceAll(/ +$/gm, '').trimEnd()}\n`;

if (process.argv.includes('--check')) {
  if ((await readFile(FILE, 'utf8').catch(() => '')) !== text) {
    console.error('src/operations.ts is not what operations/ and schema.graphql make (run `npm run generate`)');
    process.exitCode = 1;
  }
} else {
  await writeFile(FILE, text);
}
