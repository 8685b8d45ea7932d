// The dialog that asks whether to use the token of a link.

import { useEffect, useRef } from 'react';

/**
 * `from` and `to` are the claims of the old and the new token; there is an old one if `isReplaced`. Escape means
 * `onKeep`.
 */
export function Offer({ isReplaced, from, to, onReplace, onKeep }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return (
    <dialog ref={dialog} className="offer" aria-labelledby="offer" onCancel={onKeep}>
      <h2 id="offer">
        {isReplaced ? 'Replace the caller?' : to ? `Sign in as ${to.sub} (${to.role}) of tenant ${to.tenant}?` : 'Sign in as an unknown caller?'}
      </h2>
      <p>A link brings a token of <Bearer of={to} />.{isReplaced && <> You are using one of <Bearer of={from} />.</>}</p>
      <p>{isReplaced ? 'Replace it' : 'Sign in'} only if you trust where the link came from.</p>
      <button type="button" autoFocus onClick={onKeep}>{isReplaced ? 'Keep' : 'Cancel'}</button>
      <button type="button" onClick={onReplace}>{isReplaced ? 'Replace' : 'Sign in'}</button>
    </dialog>
  );
}

function Bearer({ of }) {
  return of ? <b>{of.sub} ({of.role}) at {of.tenant}</b> : <b>an unknown caller</b>;
}
