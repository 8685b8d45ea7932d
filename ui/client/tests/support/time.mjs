// Accelerates time for all code loaded afterwards: timers and the clock.

/** A second of accelerated time takes `pace` real seconds. Timers fire slightly early, which they may do. */
export function hasten(pace) {
  const { setTimeout } = globalThis;
  const { now } = Date;
  const began = now();
  Date.now = () => began + (now() - began) / pace;
  globalThis.setTimeout = (due, millis = 0, ...of) => setTimeout(due, millis * pace - 1, ...of);
}
