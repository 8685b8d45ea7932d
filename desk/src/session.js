// Who is calling: by a token that was pasted or came with the address, or by the session that the server keeps after a sign-in with a
// provider. Nothing here verifies either; the server does.

import { TOKEN, keep, kept } from './storage.js';

/** What the server's doors of a sign-in say; without them there are tokens alone. */
const NO_DOORS = { signIn: false, session: null };

/**
 * Who is calling when the page opens, and a token that a link offers. A link must not sign a user in, or in as another user, without their
 * knowing.
 */
export async function first() {
  const [linked, token] = [taken(), kept(TOKEN)];
  const doors = await askDoors();
  const current = token ? byToken(token) : doors.session && byCookie(doors.session);
  const isOffer = linked !== null && linked !== token;
  return { signIn: doors.signIn, caller: current ?? null, offered: isOffer ? byToken(linked) : null };
}

/** The token in the address, if there is one, which is taken out of it and of the browser's history, so that it is not passed on. */
export function taken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get('token');
  if (token === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  return clean(token) || null;
}

/** Keeps a token until the browser's tab is closed, and gives who calls by it. */
export function signIn(token) {
  keep(TOKEN, clean(token));
  return byToken(clean(token));
}

/** Ends what there is of either kind, and goes where the server says: to the provider, whose own session ends there. */
export async function signOut(caller) {
  keep(TOKEN, null);
  if (!caller?.isCookie) return;
  const answer = await fetch('/desk/session/end', { method: 'POST', headers: { 'x-tidings-desk': '1' }, credentials: 'same-origin' });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  const { to } = await answer.json();
  if (/^https?:$/.test(new URL(to, location).protocol)) location.assign(to);
}

/** Where a sign-in with the provider begins, and comes back to this page. */
export const beginning = () => `/desk/session/begin?${new URLSearchParams({ to: location.pathname + location.search })}`;

async function askDoors() {
  try {
    const answer = await fetch('/desk/session', { headers: { 'x-tidings-desk': '1' }, credentials: 'same-origin', cache: 'no-store' });
    return answer.ok ? { ...NO_DOORS, ...(await answer.json()) } : NO_DOORS;
  } catch {
    return NO_DOORS;
  }
}

/** A token as people paste it. */
function clean(text) {
  return text.trim().replace(/^(authorization:\s*)?bearer\s+/i, '');
}

/** Who calls by a token, as far as it says. */
export function byToken(token) {
  const claims = claimsOf(token);
  return { token, isCookie: false, isReadable: claims !== null, name: claims?.sub ?? 'an unknown caller', role: 'ADMIN', tenant: '', ...claims };
}

function byCookie({ tenant, role, sub, name, expiresAt }) {
  return {
    token: 'cookie', isCookie: true, isReadable: true, tenant, sub, name: name || sub, role: String(role).toUpperCase(),
    expiresAt: expiresAt ? new Date(expiresAt) : null,
  };
}

/** What a token claims; null where it is no readable JWT. */
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
