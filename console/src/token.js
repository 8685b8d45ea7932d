// The token: where it comes from, and what it says of its bearer. Nothing here verifies one; the server does.

import { storage } from './storage.js';

const kept = storage('token');

/** Who is calling when the page opens: the caller from before it was loaded again. The token of the address (`#token=…`) is offered. */
export function first() {
  return linked({ token: kept?.getItem('text') ?? '', offered: null }, take());
}

/**
 * Who is calling after a link with this token, if any. A link must not sign a user in, or in as another user, without their
 * knowing: it only offers its token.
 */
export function linked(calling, token) {
  return token && token !== calling.token ? { ...calling, offered: token } : calling;
}

/** Takes the token out of the address and of the browser's history, so that it is not passed on; null without one. */
export function take() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token');
  if (token === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  return clean(token);
}

/** Keeps a token until the browser's tab is closed. */
export function keep(token) {
  try {
    if (token) kept?.setItem('text', token);
    else kept?.removeItem('text');
  } catch {
    // Full: it is used all the same, until the page is loaded again.
  }
}

/** A token as people paste it. */
export function clean(text) {
  return text.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
}

/** What a token claims: `tenant`, `sub`, `role` in capitals, `exp` in seconds; null where it is no readable JWT. */
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
