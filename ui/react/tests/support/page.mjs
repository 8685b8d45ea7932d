// A page in this process, and a Tidings that it asks. Loaded before React, which looks for the one once.

import { Window } from 'happy-dom';

import { FakeTidings, token } from '../../../client/tests/support/fake.mjs';

const window = new Window({ url: 'http://page.example/' });
const { document, navigator, HTMLElement, HTMLIFrameElement, Node, CustomEvent } = window;
Object.assign(globalThis, { window, document, HTMLElement, HTMLIFrameElement, Node });
// Newer versions of Node.js have one of their own, with locks.
Object.defineProperty(globalThis, 'navigator', { value: navigator });

const { Tidings } = await import('@tidings/client');
const { createElement } = await import('react');
const { createRoot, hydrateRoot } = await import('react-dom/client');

/** How long anything may take until it has failed, in milliseconds. */
const PATIENCE = 8_000;

/** Waits until it is so. */
export async function until(what, is) {
  for (const end = performance.now() + PATIENCE; !(await is()); await new Promise((done) => setTimeout(done, 2))) {
    if (performance.now() > end) throw new Error(`in vain: ${what}`);
  }
}

export const closed = [];
const { close } = Tidings.prototype;
Tidings.prototype.close = function () {
  closed.push(this);
  close.call(this);
};

/** A server with so many items, whose requests are those of the page. */
export function serve(count = 0) {
  const server = new FakeTidings();
  for (let n = 0; n < count; n++) server.send();
  Object.assign(globalThis, { fetch: server.fetch, WebSocket: server.WebSocket });
  server.callbacks = 0;
  server.options = { server: 'http://tidings.example', token: () => (server.callbacks++, token('ada')) };
  return server;
}

/** Whatever React, or a component, has complained of. */
export function complaints() {
  const found = [];
  const { error } = console;
  console.error = (...of) => found.push(of.join(' '));
  return { found, end: () => (console.error = error) };
}

const pages = new Set();

/** Removes what is still on the page. */
export const clear = () => pages.forEach((page) => page.remove());

/** Puts it on the page, or takes over what a server has rendered there. */
export function show(tree, { rendered } = {}) {
  const container = document.body.appendChild(document.createElement('main'));
  const problems = [];
  const told = { onUncaughtError: (error) => problems.push(error), onRecoverableError: (error) => problems.push(error) };
  let root;
  if (rendered === undefined) (root = createRoot(container, told)).render(tree);
  else {
    container.innerHTML = rendered;
    root = hydrateRoot(container, tree, told);
  }
  const page = {
    container,
    problems,
    get text() {
      return container.textContent;
    },
    show: (tree) => root.render(tree),
    remove() {
      pages.delete(page);
      root.unmount();
      container.remove();
    },
  };
  pages.add(page);
  return page;
}

export { createElement as h, CustomEvent, document, Tidings };
