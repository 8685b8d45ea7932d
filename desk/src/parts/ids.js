// Ids of users out of what people paste: a list, lines, or a table as CSV.

const NAMES = ['id', 'user', 'user_id', 'userid', 'sub', 'external_id', 'externalid'];

/**
 * The ids in a text, each once. One line is a list, by commas, semicolons, tabs or spaces. Where all of several lines have the same number
 * of cells, it is a table: its ids are in the column that its first line names so, else in the first.
 */
export function idsIn(text) {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  if (lines.length <= 1) return unique((lines[0] ?? '').split(/[\s,;]+/).map(unquoted));
  const separator = ['\t', ';', ','].find((one) => lines[0].includes(one));
  const rows = lines.map((line) => (separator ? cells(line, separator) : [unquoted(line)]));
  const isTable = rows.every((row) => row.length === rows[0].length);
  if (!isTable) return unique(rows.flat());
  const named = rows[0].findIndex((cell) => NAMES.includes(cell.toLowerCase()));
  return unique((named < 0 ? rows : rows.slice(1)).map((row) => row[Math.max(named, 0)]));
}

function cells(line, separator) {
  const found = [];
  let [cell, isQuoted] = ['', false];
  for (const char of line) {
    if (char === '"') isQuoted = !isQuoted;
    if (char === separator && !isQuoted) {
      found.push(cell);
      cell = '';
    } else cell += char;
  }
  return [...found, cell].map(unquoted);
}

const unquoted = (cell) => cell.trim().replace(/^"(.*)"$/s, '$1').replaceAll('""', '"').trim();
const unique = (ids) => [...new Set(ids.filter(Boolean))];
