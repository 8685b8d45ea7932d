// The caller: by a token that was pasted or came in the address, or by the server's session after a sign-in with an
// identity provider. Nothing here verifies either; the server does.

import { TOKEN, keep, kept } from './storage.js';

/** The default if the server offers no sign-in: tokens only. */
const NO_DOORS = { signIn: false, session: null };

/**
 * The caller when the page opens, and a token that a link offers. A link must not sign a user in, or switch users,
 * without their knowledge.
 */
export async function first() {
  const [linked, token] = [taken(), kept(TOKEN)];
  const doors = await askDoors();
  const current = token ? byToken(token) : doors.session && byCookie(doors.session);
  const isOffer = linked !== null && linked !== token;
  return { signIn: doors.signIn, caller: current ?? null, offered: isOffer ? byToken(linked) : null };
}

/**
 * The token in the address, or null. Removes it from the address and the browser's history, so that it is not passed
 * on.
 */
export function taken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token');
  if (token === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  return clean(token) || null;
}

/** Keeps a token until the browser tab is closed, and returns its caller. */
export function signIn(token) {
  keep(TOKEN, clean(token));
  return byToken(clean(token));
}

/**
 * Signs out of the token and of the session. The server names the provider's address, where the provider's own session
 * ends.
 */
export async function signOut(caller) {
  keep(TOKEN, null);
  if (!caller?.isCookie) return;
  const answer = await fetch('/desk/session/end', { method: 'POST', headers: { 'x-tidings-desk': '1' }, credentials: 'same-origin' });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  const { to } = await answer.json();
  if (/^https?:$/.test(new URL(to, location).protocol)) location.assign(to);
}

/** The address where a sign-in with the provider starts; it returns to this page. */
export const beginning = () => `/desk/session/begin?${new URLSearchParams({ to: location.pathname + location.search })}`;

async function askDoors() {
  try {
    const answer = await fetch('/desk/session', { headers: { 'x-tidings-desk': '1' }, credentials: 'same-origin', cache: 'no-store' });
    return answer.ok ? { ...NO_DOORS, ...(await answer.json()) } : NO_DOORS;
  } catch {
    return NO_DOORS;
  }
}

/** Normalizes a pasted token. */
function clean(text) {
  return text.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
}

/** The caller of a token, from its claims. */
export function byToken(token) {
  const claims = claimsOf(token);
  return { token, isCookie: false, isReadable: claims !== null, name: claims?.sub, role: 'ADMIN', tenant: '', ...claims };
}

function byCookie({ tenant, role, sub, name, expiresAt }) {
  return {
    token: 'cookie', isCookie: true, isReadable: true, tenant, sub, name: name || sub, role: String(role).toUpperCase(),
    expiresAt: expiresAt ? new Date(expiresAt) : null,
  };
}

/** The claims of a token; null if it is not a readable JWT. */
function claimsOf(token) {
  try {
    const [, payload] = token.split('.');
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    const { tenant = '', sub = 'nobody', role = 'user', exp } = JSON.parse(new TextDecoder().decode(bytes));
    const expiresAt = Number.isFinite(exp) ? new Date(exp * 1000) : null;
    return { tenant: String(tenant), sub: String(sub), name: String(sub), role: String(role).toUpperCase(), expiresAt };
  } catch {
    return null;
  }
}
