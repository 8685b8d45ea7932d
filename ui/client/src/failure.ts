// What goes wrong.

import type { Problem } from './types.js';

/** The server cannot be reached, or answers nothing that is its own. */
export const OFFLINE = 'OFFLINE';
export const UNAUTHENTICATED = 'UNAUTHENTICATED';

/** A `Problem` that can be thrown. */
export class Failure extends Error implements Problem {
  override name = 'TidingsProblem';
  code: string;
  /** After how many milliseconds to ask again, where the server has said so. */
  retryAfter: number | undefined;
  /** Which argument is to blame. */
  field: string | undefined;

  constructor(code: string, message: string, retryAfter?: number, field?: string) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
    this.field = field;
  }

  /** Of an error of GraphQL, or of anything that was thrown. */
  static of(error: unknown): Failure {
    if (error instanceof Failure) return error;
    const { message, extensions } = (error ?? {}) as { message?: unknown; extensions?: Record<string, unknown> };
    const seconds = Number(extensions?.retryAfter);
    const code = extensions ? String(extensions.code) : OFFLINE;
    const retryAfter = seconds > 0 ? seconds * 1000 : undefined;
    return new Failure(code, String(message ?? error), retryAfter, extensions?.field as string | undefined);
  }

  /** Without its stack, so that what is shown is data. */
  get problem(): Problem {
    return { code: this.code, message: this.message };
  }
}
