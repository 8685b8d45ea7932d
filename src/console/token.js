// Who is calling: the token field and what its payload says. Nothing here verifies a token; the server does.

import { byId, element, session } from './page.js';

const ROLES = new Map([['user', 'USER'], ['service', 'SERVICE'], ['admin', 'ADMIN']]);

let current = '';
let claims = null;

export const token = () => current;

/** USER, SERVICE or ADMIN as the token claims it; null without a readable token. */
export const role = () => claims && (ROLES.get(String(claims.role ?? 'user').toLowerCase()) ?? null);

/** Wires the field, takes over a token from storage or from the address, and tells every change. */
export function startToken(onChange) {
  const field = byId('token');
  const show = byId('token-show');

  const accept = (text) => {
    const cleaned = text.trim().replace(/^bearer\s+/i, '');
    if (cleaned === current) return;
    current = cleaned;
    claims = payload(cleaned);
    if (cleaned) session.set('token', cleaned);
    else session.remove('token');
    describe();
    onChange();
  };

  field.addEventListener('input', () => accept(field.value));
  field.addEventListener('change', () => { field.value = current; });
  show.addEventListener('click', () => {
    const shown = field.type === 'password';
    field.type = shown ? 'text' : 'password';
    show.setAttribute('aria-pressed', String(shown));
    show.textContent = shown ? 'Hide' : 'Show';
  });
  const fromAddress = () => {
    const handed = takeFromAddress();
    if (handed) field.value = handed;
    return handed;
  };
  addEventListener('hashchange', () => { if (fromAddress()) accept(field.value); });
  // "expires in …" grows stale by itself.
  setInterval(describe, 20_000);

  field.value = fromAddress() ?? session.get('token') ?? '';
  describe();
  accept(field.value);
}

/** `#token=…`, removed from the address bar and the history entry so that it is not passed on with the link. */
function takeFromAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const handed = fragment.get('token');
  if (handed === null) return null;
  fragment.delete('token');
  const rest = fragment.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest ? `#${rest}` : ''));
  return handed;
}

function payload(text) {
  const parts = text.split('.');
  if (parts.length !== 3) return null;
  try {
    const binary = atob(parts[1].replaceAll('-', '+').replaceAll('_', '/'));
    const read = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (c) => c.charCodeAt(0))));
    return read !== null && typeof read === 'object' && !Array.isArray(read) ? read : null;
  } catch {
    return null;
  }
}

function describe() {
  const identity = byId('identity');
  if (!current) {
    identity.replaceChildren(element('span', { class: 'faint' }, 'No token: nobody is calling.'));
    return;
  }
  if (!claims) {
    identity.replaceChildren(element('span', { class: 'faint' }, 'Not a readable JWT; sent as it is.'));
    return;
  }
  const chip = (label, value, mark) =>
    value != null && element('span', { class: `chip ${mark ?? ''}`, title: label },
      element('span', { class: 'hidden' }, `${label}: `), String(value));
  const expiry = expiryOf(claims.exp);
  identity.replaceChildren(...[
    chip('tenant', claims.tenant),
    chip('user (sub)', claims.sub),
    chip('role', role() ?? claims.role, 'role'),
    expiry && chip('expiry', expiry.text, expiry.mark),
  ].filter(Boolean));
}

function expiryOf(exp) {
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return null;
  const left_s = exp - Date.now() / 1000;
  const text = left_s > 0 ? `expires in ${span(left_s)}` : `expired ${span(-left_s)} ago`;
  return { text, mark: left_s <= 0 ? 'bad' : left_s < 300 ? 'warn' : '' };
}

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
