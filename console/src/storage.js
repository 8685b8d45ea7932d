// Storage until the browser tab is closed, and no longer: operations contain people's messages.

/** A named part of the session storage; `clear` leaves other parts alone. Null if the browser forbids storage. */
export function storage(name) {
  let whole;
  try {
    whole = globalThis.sessionStorage;
  } catch {
    return null;
  }
  const prefix = `tidings.${name}.`;
  const own = () => Object.keys(whole).filter((key) => key.startsWith(prefix));
  return {
    getItem: (key) => whole.getItem(prefix + key),
    setItem: (key, value) => whole.setItem(prefix + key, value),
    removeItem: (key) => whole.removeItem(prefix + key),
    clear: () => own().forEach((key) => whole.removeItem(key)),
    get length() {
      return own().length;
    },
  };
}
