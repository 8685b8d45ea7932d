// Composes subgraphs into a supergraph, with the composers of Apollo and of The Guild.

import assert from 'node:assert/strict';

import { composeServices } from '@apollo/composition';
import { assertCompositionSuccess, composeServices as composeWithGuild } from '@theguild/federation-composition';
import { Kind, parse } from 'graphql';

/** Each takes `{ name, url, sdl }` and returns the supergraph's SDL; it fails if the subgraphs do not fit together. */
export const COMPOSERS = { '@apollo/composition': withApollo, '@theguild/federation-composition': withGuild };

function withApollo(subgraphs) {
  const result = composeServices(subgraphs.map(parsed));
  assert.deepEqual(result.errors ?? [], []);
  const warnings = result.hints.filter((hint) => hint.definition.level.name === 'WARN');
  assert.deepEqual(warnings.map(String), []);
  return result.supergraphSdl;
}

function withGuild(subgraphs) {
  const result = composeWithGuild(subgraphs.map(parsed));
  assertCompositionSuccess(result);
  return result.supergraphSdl;
}

const parsed = ({ sdl, ...rest }) => ({ ...rest, typeDefs: parse(sdl) });

/** The types that several subgraphs define, according to the supergraph's `@join__type`. */
export function sharedTypes(supergraph) {
  const subgraphsOf = ({ directives = [] }) =>
    new Set(directives.filter((one) => one.name.value === 'join__type').map((one) => argument(one, 'graph')));
  return parse(supergraph)
    .definitions.filter((one) => one.kind !== Kind.DIRECTIVE_DEFINITION && subgraphsOf(one).size > 1)
    .map((one) => one.name.value)
    .sort();
}

function argument(directive, name) {
  return directive.arguments.find((one) => one.name.value === name).value.value;
}
