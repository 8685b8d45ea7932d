// What is kept until the browser's tab is closed, and no longer: drafts hold people's messages.

/** The console's key, so that who is signed in at one of the two pages is so at the other. */
export const TOKEN = 'token.text';

/** A value of the session's storage; null where there is none, or the browser forbids to store. */
export function kept(key) {
  try {
    return sessionStorage.getItem(`tidings.${key}`);
  } catch {
    return null;
  }
}

/** Keeps a value; null forgets it. */
export function keep(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(`tidings.${key}`);
    else sessionStorage.setItem(`tidings.${key}`, value);
  } catch {
    // Full or forbidden: it is used all the same, until the page is loaded again.
  }
}
