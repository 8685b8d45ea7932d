// Runs named tests one after the other and reports their results.

import { setTimeout as sleep } from 'node:timers/promises';

/** The time limit of every wait, in milliseconds. */
const PATIENCE = 10_000;

/** The tests of one client. Output to the console by the client fails the running test. */
export class Report {
  passed = 0;
  failed = 0;
  complaints = [];

  constructor(client) {
    this.client = client;
    for (const level of ['warn', 'error']) {
      console[level] = (...parts) => this.complaints.push(parts.map(String).join(' '));
    }
  }

  async test(name, run) {
    const began = performance.now();
    try {
      await run();
      if (this.complaints.length > 0) throw new Error(`the client complains:\n${this.complaints.join('\n')}`);
      this.passed += 1;
      console.log(`ok    ${name} (${Math.round(performance.now() - began)} ms)`);
    } catch (error) {
      this.failed += 1;
      console.log(`WRONG ${name}\n${error.stack}\n${this.complaints.join('\n')}`);
    }
    this.complaints = [];
  }

  /** Prints the totals and returns the exit code. */
  close() {
    console.log(`${this.client}: ${this.passed} passed${this.failed > 0 ? `, ${this.failed} failed` : ''}`);
    return this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

/** Retries until `check` does not throw. */
export async function until(check) {
  for (const end = Date.now() + PATIENCE; ; await sleep(10)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}
