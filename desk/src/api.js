// Requests to the server, by the client's own functions. They carry a token, or the session cookie together with a
// header that pages of other origins cannot send.

import { Failure, request } from '../../ui/client/src/typed.ts';

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

/** The message for a failure, for readers who do not know the API. */
export function told(error) {
  const { code, message, retryAfter } = Failure.of(error);
  switch (code) {
    case 'OFFLINE':
      return `The server cannot be reached (${message}).`;
    case 'UNAVAILABLE':
      return `The server is busy: ${message}. Try again in a moment.`;
    case 'RATE_LIMITED':
      return `Too much at once${retryAfter ? `: try again in ${Math.ceil(retryAfter / 1000)} s` : ''}.`;
    case 'FORBIDDEN':
      return `Your role may not do this: ${message}.`;
    default:
      return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`.replace(/\.\.$/, '.');
  }
}
