// Time that goes faster for whatever is loaded after this: what waits, and what looks at the clock.

/** Starts it: what takes a second in earnest takes so many seconds. Timers fire a moment early, as they may. */
export function hasten(pace) {
  const { setTimeout } = globalThis;
  const { now } = Date;
  const began = now();
  Date.now = () => began + (now() - began) / pace;
  globalThis.setTimeout = (due, millis = 0, ...of) => setTimeout(due, millis * pace - 1, ...of);
}
