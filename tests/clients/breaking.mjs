// Names what a client of an earlier schema would miss in a later one: node breaking.mjs EARLIER LATER [NAME]
// By graphql-js, whose findBreakingChanges follows the specification. Exits with 1 where there is anything.
import { readFileSync } from "node:fs";
import { buildSchema, findBreakingChanges } from "graphql";

const [earlier, later, name = "the earlier schema"] = process.argv.slice(2);
const schema = (path) => buildSchema(readFileSync(path, "utf8"), { assumeValidSDL: true });
const changes = findBreakingChanges(schema(earlier), schema(later));
for (const { type, description } of changes) {
    console.log(`${type}: ${description}`);
}
console.log(`${changes.length} breaking changes against ${name}`);
process.exit(changes.length > 0 ? 1 : 0);
