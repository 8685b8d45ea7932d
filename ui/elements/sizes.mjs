// What a page downloads, in bytes after gzip -9, and the limits.

const KB = 1000;

/** Totals of a build's files; `size` returns the compressed size of a file. */
export function measure({ first, later, locales, push, size }) {
  const sum = (names) => names.reduce((bytes, name) => bytes + size(name), 0);
  const largest = Math.max(...locales.map(size));
  return [
    { what: 'bell, first load (with the store)', bytes: sum(first), budget: 15 * KB },
    { what: 'inbox and preferences, later (with lit-html)', bytes: sum(later) },
    { what: 'everything', bytes: sum(first) + sum(later), budget: 25 * KB },
    { what: 'another language than English, at most', bytes: largest },
    ...push.map((name) => ({ what: name, bytes: size(name), budget: KB })),
  ];
}

export function table(sizes) {
  const rows = sizes.map(({ what, bytes, budget }) => [what, (bytes / KB).toFixed(2), budget ? `≤ ${budget / KB}` : '']);
  const all = [['kB, gzip -9', '', 'budget'], ...rows];
  return all.map(([what, bytes, budget]) => `${what.padEnd(46)}${bytes.padStart(6)}  ${budget}`.trimEnd()).join('\n');
}
