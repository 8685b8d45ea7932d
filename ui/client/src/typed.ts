// Typed documents of operations/, and a small function to run them.

import { Failure, UNAUTHENTICATED } from './failure.js';
import { post } from './request.js';
import type { Document } from './request.js';

export * from './operations.js';
export type { Document } from './request.js';
export { Failure } from './failure.js';

/** The server, and a token or a function that returns one. */
export interface Access {
  server: string;
  token: string | (() => string | Promise<string>);
  fetch?: typeof fetch;
}

/**
 * Runs a document and returns its data. Fails with a `Failure`; its `code` is one of docs/api.md, or `OFFLINE`. If the
 * server refuses a token and `token` is a function, retries once.
 */
export async function request<Answer, Variables>(to: Access, document: Document<Answer, Variables>, variables: Variables): Promise<Answer> {
  const url = `${to.server.replace(/\/+$/, '')}/graphql`;
  const by = to.fetch ?? ((...of: Parameters<typeof fetch>) => fetch(...of));
  for (let isLast = typeof to.token === 'string'; ; isLast = true) {
    const token = typeof to.token === 'string' ? to.token : await to.token();
    try {
      return await post({ fetch: by, url, token }, document, variables);
    } catch (error) {
      if (isLast || Failure.of(error).code !== UNAUTHENTICATED) throw error;
    }
  }
}
