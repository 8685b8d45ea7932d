// A demo server of its own for whoever wants one, on a port that was free.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BINARY = process.env.TIDINGS_BIN ?? fileURLToPath(new URL('../../target/debug/tidings', import.meta.url));

/** How long the server may take to say that it is ready, in milliseconds. */
const PATIENCE = 60_000;

/** Starts the server; gives its address, tokens of a user, a service and an operator, and a way to stop it. */
export async function start() {
  if (process.env.TIDINGS_URL) {
    return { url: process.env.TIDINGS_URL, token: process.env.TIDINGS_TOKEN, stop() {} };
  }
  const child = spawn(BINARY, ['serve', '--demo'], {
    env: { PATH: process.env.PATH, TIDINGS_LISTEN: '127.0.0.1:0', TIDINGS_LOG: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const text = await new Promise((resolve, reject) => {
    let text = '';
    const late = setTimeout(() => reject(new Error(`not ready after ${PATIENCE} ms:\n${text}`)), PATIENCE);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${text}`)));
    child.stdout.on('data', (chunk) => {
      text += chunk;
      if (/^ {2}admin .+\n/m.test(text)) {
        clearTimeout(late);
        resolve(text);
      }
    });
  });
  child.removeAllListeners('exit');
  const said = (name) => text.match(new RegExp(`^ {2}${name} +(\\S+)$`, 'm'))[1];
  const url = said('console').replace(/\/console.*/, '/graphql');
  return { url, token: said('user'), service: said('service'), admin: said('admin'), stop: () => child.kill() };
}
