// Tests by name, one after the other, and how they came out.

import { setTimeout as sleep } from 'node:timers/promises';

/** How long anything may take until it has failed, in milliseconds. */
const PATIENCE = 10_000;

/** Tests of one client. What it complains of on the console is a failure of the test that is running. */
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

  /** Tells all of it; gives the exit code. */
  close() {
    console.log(`${this.client}: ${this.passed} passed${this.failed > 0 ? `, ${this.failed} failed` : ''}`);
    return this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

/** Tries again until nothing is thrown. */
export async function until(check) {
  for (const end = Date.now() + PATIENCE; ; await sleep(10)) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
  }
}
