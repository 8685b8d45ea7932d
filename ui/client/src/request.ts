// Requests over HTTP.

import { Failure, OFFLINE, UNAUTHENTICATED } from './failure.js';
import type { Credentials } from './token.js';

/** The text of an operation, typed with its data and variables. */
export type Document<Answer, Variables> = string & { readonly __types?: (variables: Variables) => Answer };

/** Request time-out in milliseconds; the server gives up after 10 s. */
const PATIENCE = 20_000;

/** Sends one request with one token. */
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
    // Lets a mark finish although its link navigates away. Browsers allow 64 KiB of such requests.
    keepalive: query[0] === 'm' && body.length < 3e4,
    // Not available everywhere (React Native).
    signal: AbortSignal.timeout?.(PATIENCE) ?? null,
  });
  const response = await request.catch((error) => {
    throw Failure.of(error);
  });
  const { status } = response;
  const answer = await response.json().catch(() => undefined);
  const error = answer?.errors?.[0];
  if (error) throw Failure.of({ extensions: { code: 'INTERNAL' }, ...error });
  // A proxy may have answered instead of the server.
  if (!answer?.data) {
    const retryAfter = Number(response.headers.get('retry-after')) * 1000 || undefined;
    const code = status === 401 ? UNAUTHENTICATED : status === 429 ? 'RATE_LIMITED' : OFFLINE;
    throw new Failure(code, `HTTP ${status}`, retryAfter);
  }
  return answer.data;
}

/**
 * Runs a document with the user's token; if that is refused, once more with another. `check` runs before each attempt
 * and throws if the user has changed since the call, so that nothing is sent.
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
