// Lists breaking changes between two schemas, as findBreakingChanges of graphql-js defines them. Exits with 1 if there
// are any. Usage: node breaking.mjs EARLIER LATER [NAME]
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
