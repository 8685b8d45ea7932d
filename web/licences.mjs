// What the packages in the bundle ask to be told: names, versions, and the licences' texts.

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Licences that a binary under Apache-2.0 may carry; another one ends the build, for somebody to look at it. */
const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

const TEXTS = /^(licen[cs]e|copying|notice|thirdpartynotices)/i;

/** The text for all packages that `inputs`, the paths of bundled files below `root`, come from. It begins with `subject`. */
export async function licences(subject, root, inputs) {
  const folders = new Set(inputs.map((path) => path.match(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+)/)?.[1]).filter(Boolean));
  const parts = new Map();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));
    if (!ALLOWED.includes(license)) throw new Error(`${name} ${version} has the licence ${license}: may it be bundled?`);
    const texts = (await readdir(join(root, folder))).filter((file) => TEXTS.test(file)).sort();
    const bodies = await Promise.all(texts.map(async (file) => (await readFile(join(root, folder, file), 'utf8')).trim()));
    parts.set(`${name} ${version}`, [`${name} ${version} (${license})`, ...bodies].join('\n\n'));
  }
  const ordered = [...parts.keys()].sort().map((key) => parts.get(key).replaceAll('\r\n', '\n'));
  const rule = `\n\n${'='.repeat(80)}\n\n`;
  return `${subject} the following packages.${rule}${ordered.join(rule)}\n`;
}
