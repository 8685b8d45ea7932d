// Addresses of the page: `/desk/users/ada?tab=inbox` has place `users`, rest `['ada']`, and query `tab=inbox`.

const BASE = '/desk';

/** The browser's current address. */
export function here() {
  const [place = '', ...rest] = location.pathname.slice(BASE.length).split('/').filter(Boolean).map(decoded);
  return { place, rest, query: new URLSearchParams(location.search) };
}

/** The address of a place. Empty query values are left out. */
export function to(place, rest = [], query = {}) {
  const path = [BASE, place, ...rest.map(encodeURIComponent)].filter(Boolean).join('/');
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ''));
  return search.size > 0 ? `${path}?${search}` : path;
}

/** Navigates without reloading the page. */
export function go(address, { replaces = false } = {}) {
  history[replaces ? 'replaceState' : 'pushState'](null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
}

/** Handles a click on a link of the desk without reloading the page. */
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
