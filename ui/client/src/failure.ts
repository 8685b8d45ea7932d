// Errors.

import type { Problem } from './types.js';

/** The server cannot be reached, or the response is not from Tidings. */
export const OFFLINE = 'OFFLINE';
export const UNAUTHENTICATED = 'UNAUTHENTICATED';

/** A `Problem` that can be thrown. */
export class Failure extends Error implements Problem {
  override name = 'TidingsProblem';
  code: string;
  /** When to retry, in milliseconds, if the server says so. */
  retryAfter: number | undefined;
  /** The argument with the error. */
  field: string | undefined;

  constructor(code: string, message: string, retryAfter?: number, field?: string) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
    this.field = field;
  }

  /** Converts a GraphQL error or anything thrown. */
  static of(error: unknown): Failure {
    if (error instanceof Failure) return error;
    const { message, extensions } = (error ?? {}) as { message?: unknown; extensions?: Record<string, unknown> };
    const seconds = Number(extensions?.retryAfter);
    const code = extensions ? String(extensions.code) : OFFLINE;
    const retryAfter = seconds > 0 ? seconds * 1000 : undefined;
    return new Failure(code, String(message ?? error), retryAfter, extensions?.field as string | undefined);
  }

  /** Plain data without a stack trace. */
  get problem(): Problem {
    return { code: this.code, message: this.message };
  }
}
