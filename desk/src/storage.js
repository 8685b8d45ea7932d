// Storage until the browser tab is closed, and no longer: drafts contain people's messages. Only the language of the
// page is remembered for the next visit.

/** The console uses the same key, so a sign-in on one page counts for the other. */
export const TOKEN = 'token.text';

/** A stored value; null if there is none or the browser forbids storage. */
export function kept(key) {
  try {
    return sessionStorage.getItem(`tidings.${key}`);
  } catch {
    return null;
  }
}

/** Stores a value; null removes it. */
export function keep(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(`tidings.${key}`);
    else sessionStorage.setItem(`tidings.${key}`, value);
  } catch {
    // Storage is full or forbidden: the value works until the page is reloaded.
  }
}

/** A value of an earlier visit; null if there is none or the browser forbids storage. */
export function remembered(key) {
  try {
    return localStorage.getItem(`tidings.desk.${key}`);
  } catch {
    return null;
  }
}

/** Stores a value for later visits. */
export function remember(key, value) {
  try {
    localStorage.setItem(`tidings.desk.${key}`, value);
  } catch {
    // Storage is full or forbidden: the next visit begins with the default.
  }
}
