// Where the token comes from, and its claims. Nothing here verifies a token; the server does.

import { storage } from './storage.js';

const kept = storage('token');

/**
 * The caller when the page opens: the token from before a reload. A token in the address (`#token=…`) is only offered.
 */
export function first() {
  return linked({ token: kept?.getItem('text') ?? '', offered: null }, take());
}

/**
 * The caller after following a link with this token, if any. A link must not sign a user in, or switch users, without
 * their knowledge: its token is only offered.
 */
export function linked(calling, token) {
  return token && token !== calling.token ? { ...calling, offered: token } : calling;
}

/**
 * Removes the token from the address and the browser's history, so that it is not passed on. Returns null if there is
 * none.
 */
export function take() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token');
  if (token === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  return clean(token);
}

/** Keeps a token until the browser tab is closed. */
export function keep(token) {
  try {
    if (token) kept?.setItem('text', token);
    else kept?.removeItem('text');
  } catch {
    // The storage is full: the token works until the page is reloaded.
  }
}

/** Normalizes a pasted token. */
export function clean(text) {
  return text.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
}

/** A token's claims: `tenant`, `sub`, `role` in upper case, `exp` in seconds. Null if it is not a readable JWT. */
export function claimsOf(token) {
  try {
    const [, payload] = token.split('.');
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    const { tenant = 'no tenant', sub = 'nobody', role = 'user', exp } = JSON.parse(new TextDecoder().decode(bytes));
    return { tenant: String(tenant), sub: String(sub), role: String(role).toUpperCase(), exp };
  } catch {
    return null;
  }
}
