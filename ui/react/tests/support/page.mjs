// A page in this process with a mock Tidings. Import it before React, which looks for a DOM once.

import { Window } from 'happy-dom';

import { FakeTidings, token } from '../../../client/tests/support/fake.mjs';

const window = new Window({ url: 'http://page.example/' });
const { document, navigator, HTMLElement, HTMLIFrameElement, Node, CustomEvent } = window;
Object.assign(globalThis, { window, document, HTMLElement, HTMLIFrameElement, Node });
// Newer versions of Node.js have a navigator of their own, with locks.
Object.defineProperty(globalThis, 'navigator', { value: navigator });

const { Tidings } = await import('@tidings/client');
const { createElement } = await import('react');
const { createRoot, hydrateRoot } = await import('react-dom/client');

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 8_000;

/** Waits until the condition holds. */
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

/** A server with this many items that handles the page's requests. */
export function serve(count = 0) {
  const server = new FakeTidings();
  for (let n = 0; n < count; n++) server.send();
  Object.assign(globalThis, { fetch: server.fetch, WebSocket: server.WebSocket });
  server.callbacks = 0;
  server.options = { server: 'http://tidings.example', token: () => (server.callbacks++, token('ada')) };
  return server;
}

/** Errors logged by React or a component. */
export function complaints() {
  const found = [];
  const { error } = console;
  console.error = (...of) => found.push(of.join(' '));
  return { found, end: () => (console.error = error) };
}

const pages = new Set();

/** Removes all rendered trees. */
export const clear = () => pages.forEach((page) => page.remove());

/** Renders a tree, or hydrates what a server has rendered. */
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
