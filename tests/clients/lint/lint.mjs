// Lints the schema as integrators do: graphql-eslint with its presets for schemas and for Relay. Usage: node lint.mjs
// [SCHEMA]

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { ESLint } from 'eslint';

import { coordinatesOf } from './coordinates.mjs';
import schemaIn from './rules.mjs';
import { EXCEPTIONS } from './exceptions.mjs';

const path = process.argv[2] ?? fileURLToPath(new URL('../../../schema.graphql', import.meta.url));

const exceptions = EXCEPTIONS.flatMap(({ rule, of }) => of.map((pattern) => exception(rule, pattern)));

function exception(rule, pattern) {
  const matches = new RegExp(`^${escaped(pattern)}$`);
  return { rule, pattern, matches, used: false };
}

function escaped(pattern) {
  return pattern.replace(/[.()]/g, '\\$&').replaceAll('*', '\\w*');
}

function excepted({ rule, coordinate }) {
  const fitting = exceptions.filter((one) => one.rule === rule && one.matches.test(coordinate));
  fitting.forEach((one) => (one.used = true));
  return fitting.length > 0;
}

async function findings() {
  const text = await readFile(path, 'utf8');
  const coordinateAt = coordinatesOf(text);
  const eslint = new ESLint({ cwd: import.meta.dirname, overrideConfigFile: true, overrideConfig: schemaIn(path) });
  const [{ messages }] = await eslint.lintText(text, { filePath: 'schema.graphql' });
  return messages.map(({ ruleId, line, column, message }) => {
    const rule = ruleId?.replace('@graphql-eslint/', '') ?? 'parser';
    return { rule, coordinate: coordinateAt(line, column), message };
  });
}

const all = await findings();
const wrong = all.filter((finding) => !excepted(finding));
const idle = exceptions.filter((one) => !one.used);
wrong.forEach(({ rule, coordinate, message }) => console.error(`${rule}: ${coordinate}: ${message}`));
idle.forEach(({ rule, pattern }) => console.error(`no exception to ${rule} is needed for ${pattern}`));
const verdict = `${wrong.length} findings, ${all.length - wrong.length} excepted`;
console.log(`graphql-eslint: ${verdict}`);
process.exitCode = wrong.length + idle.length === 0 ? 0 : 1;
