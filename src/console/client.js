// The one place that speaks to the server: GraphQL over HTTP, POST, this origin only.

const ENDPOINT = new URL('/graphql', location);

/**
 * Sends one request and returns the answer with its figures. `json` is undefined where the body is
 * none (a proxy's error page). Throws where there is no answer at all: no network, or `signal`.
 */
export async function post(request, { token, signal } = {}) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/graphql-response+json, application/json;q=0.9',
  };
  if (token) headers.authorization = `Bearer ${token}`;

  const started = performance.now();
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers,
    body: JSON.stringify(request),
    signal,
    // The token says who is calling; a cookie of the same origin must not.
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
  });
  const text = await response.text();
  const elapsed_ms = performance.now() - started;

  let json;
  try {
    json = JSON.parse(text);
  } catch {
    // Shown as it is.
  }
  const bytes = new TextEncoder().encode(text).length;
  return { status: response.status, retryAfter: response.headers.get('retry-after'), elapsed_ms, bytes, text, json };
}
