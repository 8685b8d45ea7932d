// Schema coordinates of positions in a schema: https://spec.graphql.org/draft/#sec-Schema-Coordinates.

import { Kind, Source, parse, visit } from 'graphql';

const DEFINITION = /Definition$/;

/** Returns a function from line and column, both from 1, to the coordinates of the innermost definition there. */
export function coordinatesOf(text) {
  const definitions = [];
  const path = [];
  visit(parse(new Source(text)), {
    enter(node) {
      if (!DEFINITION.test(node.kind) || !node.name) return;
      path.push(node);
      definitions.push({ ...node.loc, coordinate: coordinate(path) });
    },
    leave(node) {
      if (path.at(-1) === node) path.pop();
    },
  });
  const lines = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.push(at + 1);
  return (line, column) => {
    const offset = lines[line - 1] + column - 1;
    const around = definitions.filter(({ start, end }) => start <= offset && offset <= end);
    return around.at(-1)?.coordinate ?? `line ${line}`;
  };
}

function coordinate(path) {
  const [type, field, argument] = path.map((node) => node.name.value);
  if (path[0].kind === Kind.DIRECTIVE_DEFINITION) return field ? `@${type}(${field}:)` : `@${type}`;
  if (argument) return `${type}.${field}(${argument}:)`;
  return field ? `${type}.${field}` : type;
}
