// What the page asks of the server, over the client's own requests: by a token, or by the cookie of a session with the header that no
// page of another origin can send.

import { Failure, request } from '../../ui/client/src/typed.ts';

export { Failure };

let caller = null;
let refused = () => {};

/** From now on `who` is calling; `onRefused` is told why the server does not take them any more. */
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

/** The data of an operation; fails with a `Failure`, whose `field` says which part of the input is to blame. */
export async function ask(document, variables = {}) {
  const asked = caller;
  try {
    return await request({ server: location.origin, token: asked.token, fetch: send }, document.trim(), variables);
  } catch (error) {
    if (Failure.of(error).code === 'UNAUTHENTICATED' && asked === caller) refused(error.message);
    throw error;
  }
}

/** What is to be said of a failure to somebody who does not know the API. */
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
