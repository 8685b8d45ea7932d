// What is kept until the browser's tab is closed, and no longer: operations hold people's messages.

/** A part of the session's storage, of which `clear` empties no other; null where the browser forbids to store. */
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
