// The bell of a USER token, as the partner's own page would show it: unread total and latest titles.

import { post } from './client.js';
import { byId, element } from './page.js';
import { role, token } from './token.js';

const QUERY = `query ConsoleBell {
  viewer {
    overview(cap: 99) {
      unread { count exact }
      types {
        type { code title }
        unread { count exact }
        latest { id title createdAt isRead }
      }
    }
  }
}`;

/** Titles in the dropdown; the inbox itself is one operation away. */
const SHOWN = 8;

// Counts refreshes, so that a slow answer does not overwrite a newer one or another token's.
let turn = 0;

export function startBell() {
  const button = byId('bell-button');
  const list = byId('bell-list');
  const open = (wanted) => {
    list.hidden = !wanted;
    button.setAttribute('aria-expanded', String(wanted));
  };
  button.addEventListener('click', () => {
    open(list.hidden);
    if (!list.hidden) refreshBell();
  });
  document.addEventListener('click', (event) => {
    if (!byId('bell').contains(event.target)) open(false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || list.hidden) return;
    open(false);
    button.focus();
  });
}

export async function refreshBell() {
  turn += 1;
  const mine = turn;
  const asUser = role() === 'USER';
  byId('bell').hidden = !asUser;
  if (!asUser) {
    byId('bell-list').hidden = true;
    byId('bell-button').setAttribute('aria-expanded', 'false');
    return;
  }

  let overview;
  let problem = 'The server gave no overview.';
  try {
    const answer = await post({ query: QUERY, operationName: 'ConsoleBell' }, { token: token() });
    overview = answer.json?.data?.viewer?.overview;
    problem = answer.json?.errors?.[0]?.message ?? problem;
  } catch {
    problem = 'The server does not answer.';
  }
  if (mine !== turn) return;
  if (overview) show(overview);
  else showProblem(problem);
}

/** A count as a badge says it: `cap` and a plus where there are more than the cap. */
function spoken({ count, exact }) {
  return exact ? String(count) : `${count}+`;
}

function show({ unread, types }) {
  badge(unread.count > 0 ? spoken(unread) : '', `${spoken(unread)} unread`);
  const latest = types
    .filter((entry) => entry.latest)
    .sort((one, other) => other.latest.createdAt.localeCompare(one.latest.createdAt))
    .slice(0, SHOWN);
  byId('bell-list').replaceChildren(
    element('h2', {}, unread.count > 0 ? `${spoken(unread)} unread` : 'Nothing unread'),
    latest.length === 0
      ? element('p', { class: 'faint' }, 'No notifications yet.')
      : element('ul', {}, latest.map(row)),
  );
}

function row({ type, unread, latest }) {
  return element('li', { class: latest.isRead ? '' : 'unread' },
    element('span', { class: 'what' }, latest.title),
    element('span', { class: 'faint' },
      `${type.title} · ${when(latest.createdAt)}${unread.count > 0 ? ` · ${spoken(unread)} unread` : ''}`));
}

function showProblem(problem) {
  badge('!', `No overview: ${problem}`);
  byId('bell-list').replaceChildren(element('h2', {}, 'No overview'), element('p', { class: 'faint' }, problem));
}

function badge(text, label) {
  const count = byId('bell-count');
  count.hidden = !text;
  count.textContent = text;
  byId('bell-button').setAttribute('aria-label', `Notifications: ${label}`);
  byId('bell-button').title = label;
}

function when(instant) {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const sameDay = at.toDateString() === new Date().toDateString();
  return at.toLocaleString(undefined, sameDay ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'short' });
}
