// The question whether a link's token shall replace the one in use.

import { useEffect, useRef } from 'react';

/** `from` and `to` are what the two tokens claim; `onKeep` is called for Escape, too. */
export function Offer({ from, to, onReplace, onKeep }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return (
    <dialog ref={dialog} className="offer" aria-labelledby="offer" onCancel={onKeep}>
      <h2 id="offer">Replace who is calling?</h2>
      <p>A link brings a token of <Bearer of={to} />. You are using one of <Bearer of={from} />.</p>
      <p>Replace it only if you trust where the link came from.</p>
      <button type="button" autoFocus onClick={onKeep}>Keep</button>
      <button type="button" onClick={onReplace}>Replace</button>
    </dialog>
  );
}

function Bearer({ of }) {
  return of ? <b>{of.sub} ({of.role}) at {of.tenant}</b> : <b>somebody unknown</b>;
}
