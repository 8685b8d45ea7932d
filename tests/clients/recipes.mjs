// Follows each recipe, and the page on announcements in Chinese, from top to bottom in its own tenant, and on its own
// server if the recipe starts one.

import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { ROOT, Reader, answers, freePort } from './markdown.mjs';
import { SECRET, Server, token } from './server.mjs';

const FOLDER = 'docs/recipes';

const server = await Server.start();
let count = 0;
try {
  const recipes = (await readdir(join(ROOT, FOLDER))).sort().map((name) => `${FOLDER}/${name}`);
  for (const page of [...recipes, 'docs/zh-CN/announcements.md']) {
    const tenant = page.replace('.md', '');
    const isOwn = (await readFile(join(ROOT, page), 'utf8')).includes('tidings serve');
    const address = `127.0.0.1:${isOwn ? await freePort() : server.port}`;
    await new Reader(page, {
      token: (role, user) => token(tenant, user ?? role, role),
      url: () => `http://${address}/graphql`,
      settings: { ...(isOwn ? { TIDINGS_LISTEN: address, TIDINGS_SECRET: SECRET } : server.own), TENANT: tenant },
      says: (text) => text.replaceAll('127.0.0.1:8080', address),
      after: ({ text }) => text.includes('tidings serve') && answers(`http://${address}/readyz`),
    }).read();
    count += 1;
  }
} finally {
  await server.remove();
}
console.log(`recipes: ${count} run as printed`);
