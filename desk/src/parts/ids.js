// Extracts user ids from pasted text: a list, lines, or a CSV table.

const NAMES = ['id', 'user', 'user_id', 'userid', 'sub', 'external_id', 'externalid'];

/**
 * The ids in a text, without duplicates. A single line is a list, separated by commas, semicolons, tabs or spaces.
 * Several lines with the same number of cells are a table: the ids are in the column with a known header, otherwise
 * in the first.
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
