// What components show, and when the store sends requests and stops.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clear, closed, complaints, CustomEvent, h, serve, show, Tidings, until } from './support/page.mjs';

import { Activity, createRef, StrictMode } from 'react';
import { renderToString } from 'react-dom/server';

import { Bell, Inbox, TidingsProvider, useInbox, useMarks, useOnItem, useOnProblem, useOverview, usePreferences, useTidings } from '../dist/index.js';

function Count() {
  const { status, unread } = useOverview();
  return h('output', null, `${status} ${unread.count}`);
}

/** Renders a list, and returns what it rendered. */
function lister() {
  const seen = { renderings: 0 };
  function List({ filter }) {
    const view = useInbox(filter);
    seen.view = view;
    seen.renderings++;
    return h('ul', null, view.items.map(({ id, title }) => h('li', { key: id }, title)));
  }
  return [List, seen];
}

const check = (name, work) => test(name, { timeout: 20_000 }, (t) => work(t).finally(clear));
const over = (options, ...children) => h(TidingsProvider, options, ...children);

check('counts and items come, change and are marked', async () => {
  const server = serve(2);
  const [List, seen] = lister();
  const page = show(over(server.options, h(Count), h(List)));
  await until('there', () => page.text === 'ready 2title 2title 1');
  server.send();
  await until('came', () => page.text === 'ready 3title 3title 2title 1');
  await seen.view.markRead({ ids: [seen.view.items[0].id] });
  await until('read', () => page.text.startsWith('ready 2') && seen.view.items[0].isRead);
  await seen.view.remove({ ids: [seen.view.items[2].id] });
  await until('deleted', () => page.text === 'ready 1title 3title 2');
  await seen.view.archive({ upTo: seen.view.items[0].cursor });
  await until('archived', () => page.text === 'ready 0');
});

check('lists go on as far as there is anything', async () => {
  const server = serve(40);
  const [List, seen] = lister();
  const page = show(over(server.options, h(List)));
  await until('a page', () => seen.view?.items.length === 30 && seen.view.hasMore);
  await seen.view.fetchMore();
  await until('all', () => seen.view.items.length === 40 && !seen.view.hasMore);
});

check('the same filter is the same list, and another is another', async () => {
  const server = serve();
  server.send('a', 'an apple');
  server.send('b', 'a pear');
  const [List, seen] = lister();
  const page = show(over(server.options, h(List, { filter: { types: ['a', 'b'] } })));
  await until('both', () => page.text === 'a pearan apple');
  const { fetchMore, items, markRead } = seen.view;
  const { renderings } = seen;
  page.show(over(server.options, h(List, { filter: { types: ['b', 'a'] } })));
  await until('rendered', () => seen.renderings > renderings);
  assert.equal(seen.view.fetchMore, fetchMore);
  assert.equal(seen.view.items, items);
  page.show(over(server.options, h(List, { filter: { types: ['a'] } })));
  await until('one', () => page.text === 'an apple');
  assert.notEqual(seen.view.fetchMore, fetchMore);
  assert.equal(seen.view.markRead, markRead);
});

check('preferences are shown and set', async () => {
  const server = serve();
  let set;
  const Switches = () => {
    const preferences = usePreferences();
    set = preferences.set;
    return preferences.types.map(({ type, isWanted }) => `${type.code}:${isWanted} `).join('');
  };
  const page = show(over(server.options, h(Switches)));
  await until('there', () => page.text === 'a:true b:true ');
  await set('b', false);
  await until('off', () => page.text === 'a:true b:false ');
  assert.equal(server.wanted.get('b'), false);
});

check('what is new, and what fails, is told to the newest function', async () => {
  const server = serve(1);
  const heard = [];
  const Ears = ({ name }) => {
    useOnItem(({ title }) => heard.push(`${name} ${title}`));
    useOnProblem(({ code }) => heard.push(`${name} ${code}`));
    return h(Count);
  };
  const page = show(over(server.options, h(Ears, { name: 'one' })));
  await until('up', () => page.text === 'ready 1' && server.sockets.size === 1);
  page.show(over(server.options, h(Ears, { name: 'other' }), 'once more'));
  await until('rendered', () => page.text === 'ready 1once more');
  server.send();
  await until('came', () => heard.length > 0);
  assert.deepEqual(heard, ['other title 2']);
  server.isAway = true;
  server.closeAll();
  await until('away', () => heard.length === 2);
  assert.equal(heard[1], 'other OFFLINE');
});

check('on a server nothing is asked, and a page takes over what that has rendered', async (t) => {
  const server = serve(2);
  const said = complaints();
  t.after(said.end);
  const [List] = lister();
  const Marks = () => (useMarks(), null);
  const tree = (options) => h(StrictMode, null, over(options, h(Count), h(List), h(Marks), h(Bell, { theme: 'dark', noPreferences: true, className: 'mine' })));
  const rendered = renderToString(tree(server.options));
  assert.equal(rendered, '<output>loading 0</output><ul></ul><tidings-bell theme="dark" class="mine" no-preferences=""></tidings-bell>');
  assert.equal(server.callbacks + server.requests.length + server.connections.length, 0);

  // Also if the store is ready before hydration.
  const tidings = new Tidings(server.options);
  t.after(() => tidings.close());
  tidings.overview.subscribe(() => {});
  await until('ready', () => tidings.overview.get().status === 'ready');
  const page = show(tree({ tidings }), { rendered });
  await until('shown', () => page.text === 'ready 2title 2title 1');
  assert.deepEqual([...said.found, ...page.problems], []);
  page.remove();
  await new Promise((done) => setTimeout(done));
  assert.ok(!closed.includes(tidings), 'it is the page\'s own');
});

check('strict mode makes one session, which ends with the provider', async () => {
  const server = serve(1);
  const found = new Set();
  const Look = () => (found.add(useTidings()), null);
  const page = show(h(StrictMode, null, over(server.options, h(Count), h(Look))));
  await until('up', () => page.text === 'ready 1' && server.sockets.size === 1);
  assert.deepEqual([server.callbacks, server.connections.length], [1, 1]);
  assert.equal(closed.filter((store) => found.has(store)).length, 0);
  page.remove();
  await until('closed', () => server.sockets.size === 0);
  assert.equal(closed.filter((store) => found.has(store)).length, 1);
});

check('another function for tokens is no other store, but another address is', async () => {
  const server = serve(1);
  let store;
  const Look = () => ((store = useTidings()), null);
  const tree = (options, sign) => over({ ...server.options, token: () => server.options.token(), types: ['a'], ...options }, h(Count), h(Look), sign);
  const page = show(tree());
  await until('up', () => page.text === 'ready 1');
  const first = store;
  page.show(tree({}, '!'));
  await until('rendered', () => page.text === 'ready 1!');
  assert.equal(store, first);
  assert.equal(server.callbacks, 1);
  page.show(tree({ server: 'http://other.example' }));
  await until('another', () => store !== first && page.text === 'ready 1' && closed.includes(first));
  assert.equal(server.callbacks, 2);
});

check('whoever needs a token asks the newest function', async () => {
  const server = serve(1);
  const asked = [];
  const tree = (name, ...children) => over({ ...server.options, token: () => (asked.push(name), server.options.token()) }, ...children);
  const page = show(tree('one', 'one'));
  await until('rendered', () => page.text === 'one');
  page.show(tree('other', h(Count)));
  await until('ready', () => page.text === 'ready 1');
  assert.deepEqual(asked, ['other']);
});

check('what was hidden goes on when it is shown again', async () => {
  const server = serve(1);
  const tree = (mode) => h(Activity, { mode }, over(server.options, h(Count)));
  const page = show(tree('visible'));
  await until('up', () => page.text === 'ready 1' && server.sockets.size === 1);
  page.show(tree('hidden'));
  await until('rests', () => server.sockets.size === 0);
  server.send();
  page.show(tree('visible'));
  await until('goes on', () => page.text === 'ready 2' && server.sockets.size === 1);
});

check('elements get properties and tell of events', async () => {
  const server = serve(1);
  const bell = createRef();
  const heard = [];
  const texts = { title: 'Updates' };
  let store;
  const Look = () => ((store = useTidings()), null);
  const tree = (name) =>
    over(
      server.options,
      h(Look),
      h(Bell, { ref: bell, texts, placement: 'top-end', onOpen: ({ detail }) => heard.push(`${name} ${detail}`) }, h('b', { slot: 'footer' }, name)),
      h(Inbox, { tabs: 'none' }),
    );
  const page = show(tree('one'));
  await until('there', () => bell.current?.store);
  const element = page.container.querySelector('tidings-bell');
  assert.equal(bell.current, element);
  assert.equal(element.store, store);
  assert.equal(element.texts, texts);
  assert.equal(element.getAttribute('placement'), 'top-end');
  assert.equal(page.container.querySelector('tidings-inbox').store, store);
  page.show(tree('other'));
  await until('rendered', () => page.text === 'other');
  element.dispatchEvent(new CustomEvent('tidings-open', { detail: 7 }));
  assert.deepEqual(heard, ['other 7']);
});

check('hooks without a provider say so', async () => {
  assert.throws(() => renderToString(h(Count)), /there is no <TidingsProvider> above/);
});
