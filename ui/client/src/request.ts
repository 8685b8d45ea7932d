// Requests over HTTP.

import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import type { Credentials } from './token.js';

/** The text of an operation, with the types of its answer and its variables. */
export type Document<Answer, Variables> = string & { readonly __types?: (variables: Variables) => Answer };

/** Milliseconds after which an answer is not waited for any more; the server gives up after 10 s. */
const PATIENCE = 20_000;

/** One request with one token. */
export async function post<Answer, Variables>(
  to: { fetch: typeof fetch; url: string; token: string },
  query: Document<Answer, Variables>,
  variables: Variables,
): Promise<Answer> {
  const body = JSON.stringify({ query, variables });
  const request = to.fetch(to.url, {
    method: 'POST',
    headers: { authorization: `Bearer ${to.token}`, 'content-type': 'application/json' },
    body,
    credentials: 'omit',
    // Mutations: a link that is followed marks its item and leaves the page. Browsers let 64 KiB of them finish.
    keepalive: query[0] === 'm' && body.length < 3e4,
    // Not everywhere (React Native).
    signal: AbortSignal.timeout?.(PATIENCE) ?? null,
  });
  const response = await request.catch((error) => {
    throw Failure.of(error);
  });
  const { status } = response;
  const answer = await response.json().catch(() => undefined);
  const error = answer?.errors?.[0];
  if (error) throw Failure.of({ extensions: { code: 'INTERNAL' }, ...error });
  // What stands between may answer in the server's stead.
  if (!answer?.data) {
    const retryAfter = Number(response.headers.get('retry-after')) * 1000 || undefined;
    const code = status === 401 ? UNAUTHENTICATED : status === 429 ? 'RATE_LIMITED' : OFFLINE;
    throw new Failure(code, `HTTP ${status}`, retryAfter);
  }
  return answer.data;
}

/**
 * Runs a document with the token of whoever is signed in, once more with another one where it is refused. It sends
 * nothing where `check` throws, since the token is another user's than when the document was asked for.
 */
export type Ask = <Answer, Variables>(
  document: Document<Answer, Variables>,
  variables: Variables,
  check?: () => void,
) => Promise<Answer>;

export function asking(to: { fetch: typeof fetch; url: string }, credentials: Credentials): Ask {
  return async (document, variables, check) => {
    for (let isLast = false; ; isLast = true) {
      const token = await credentials.get();
      check?.();
      try {
        const answer = await post({ ...to, token }, document, variables);
        credentials.accepted(token);
        return answer;
      } catch (error) {
        const isRefused = Failure.of(error).code === UNAUTHENTICATED;
        if (isRefused) credentials.refused(token);
        if (!isRefused || isLast) throw error;
      }
    }
  };
}
