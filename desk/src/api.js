// Requests to the server, by the client's own functions. They carry a token, or the session cookie together with a
// header that pages of other origins cannot send.

import { Failure, request } from '../../ui/client/src/typed.ts';
import { hasText, t } from './texts.js';
import { fieldName } from './words.js';

export { Failure };

let caller = null;
let refused = () => {};

/** Sets the caller of all further requests. `onRefused` gets the reason if the server stops accepting them. */
export function callAs(who, onRefused) {
  caller = who;
  refused = onRefused;
}

function send(url, init) {
  const common = { ...init, cache: 'no-store', redirect: 'error' };
  if (!caller?.isCookie) return fetch(url, common);
  const headers = { 'content-type': 'application/json', 'x-tidings-desk': '1' };
  return fetch(url, { ...common, headers, credentials: 'same-origin' });
}

/** The data of an operation. Fails with a `Failure`; its `field` names the wrong part of the input. */
export async function ask(document, variables = {}) {
  const asked = caller;
  try {
    return await request({ server: location.origin, token: asked.token, fetch: send }, document.trim(), variables);
  } catch (error) {
    if (Failure.of(error).code === 'UNAUTHENTICATED' && asked === caller) refused(error.message);
    throw error;
  }
}

/**
 * The message for a failure, for readers who do not know the API: what its code means, and the server's words, which
 * are always English.
 */
export function told(error) {
  const { code, message, retryAfter, field } = Failure.of(error);
  const name = field && fieldName(field.match(/(\w+)(\[\d+\])?$/)?.[1] ?? field);
  const values = { detail: message.replace(/\.$/, ''), n: retryAfter && Math.ceil(retryAfter / 1000), field: name };
  const key = [name && `error.${code}.field`, retryAfter && `error.${code}.later`, `error.${code}`].find((one) => one && hasText(one));
  const sentence = t(key ?? 'error.other', values);
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
