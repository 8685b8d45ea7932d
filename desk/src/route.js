// Addresses of the page: `/desk/users/ada?tab=inbox` is the place `users`, the rest `['ada']`, and what the query says.

const BASE = '/desk';

/** Where the browser is. */
export function here() {
  const [place = '', ...rest] = location.pathname.slice(BASE.length).split('/').filter(Boolean).map(decoded);
  return { place, rest, query: new URLSearchParams(location.search) };
}

/** The address of a place. What is empty is left out of the query. */
export function to(place, rest = [], query = {}) {
  const path = [BASE, place, ...rest.map(encodeURIComponent)].filter(Boolean).join('/');
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ''));
  return search.size > 0 ? `${path}?${search}` : path;
}

/** Goes there without loading the page again. */
export function go(address, { replaces = false } = {}) {
  history[replaces ? 'replaceState' : 'pushState'](null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** Follows a click on one of our own links without loading the page again. */
export function follow(event) {
  const link = event.composedPath().find((at) => at.localName === 'a');
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link?.href || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !`${url.pathname}/`.startsWith(`${BASE}/`) || url.pathname.startsWith(`${BASE}/session`)) return;
  event.preventDefault();
  go(url.pathname + url.search);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
