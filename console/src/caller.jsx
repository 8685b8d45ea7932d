// The token field, with the claims of the token and the server's verdict on it.

import { useEffect, useState } from 'react';

/** How often "expires in …" is updated. */
const TICK_MS = 15_000;

/** How long the field must stay unchanged before its text is used, so that a half-typed token is not. */
const REST_MS = 300;

export function Caller({ token, claims, verdict, onToken }) {
  const [isShown, setShown] = useState(false);
  const [text, setText] = useRested(token, onToken);
  const now = useNow();
  const expiry = claims && expiryOf(claims.exp, now);
  const { mark, says } = standing(token, claims, verdict, expiry);

  return (
    <>
      <div className="token">
        <label htmlFor="token">Token</label>
        <input
          id="token" type={isShown ? 'text' : 'password'} autoComplete="off" spellCheck={false} aria-describedby="standing"
          placeholder="tidings token --tenant … --role admin" value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="button" aria-pressed={isShown} onClick={() => setShown(!isShown)}>{isShown ? 'Hide' : 'Show'}</button>
      </div>
      <p className="claims">
        {claims && (
          <>
            <span title="The token's tenant">{claims.tenant}</span>
            <span title="The user that the token names (sub)">{claims.sub}</span>
            <span title="The token's role" className="role">{claims.role}</span>
            <span title={expiry.at} className={expiry.isPast ? 'bad' : ''}>{expiry.text}</span>
          </>
        )}
      </p>
      <p id="standing" className={`standing ${mark}`} role="status">{says}</p>
    </>
  );
}

/** The message to show for a token, the most serious first. */
function standing(token, claims, { accepted, refused }, expiry) {
  if (!token) return { mark: 'warn', says: 'No token. Paste one here.' };
  if (refused !== undefined) return { mark: 'bad', says: `Refused: ${refused}` };
  if (expiry?.isPast) return { mark: 'bad', says: 'This token has expired. Paste a newer one.' };
  if (accepted) return { mark: 'good', says: 'Accepted' };
  if (!claims) return { mark: 'warn', says: 'This token cannot be read here.' };
  return { mark: '', says: 'Not used yet' };
}

function expiryOf(exp, now) {
  if (!Number.isFinite(exp)) return { text: 'never expires', isPast: false };
  const left_s = exp - now / 1000;
  const isPast = left_s <= 0;
  const text = isPast ? `expired ${span(-left_s)} ago` : `expires in ${span(left_s)}`;
  return { text, isPast, at: new Date(exp * 1000).toLocaleString() };
}

function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** A text that starts as `value`. Calls `onRest` once the text has not changed for REST_MS. */
function useRested(value, onRest) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    const timer = setTimeout(() => onRest(text), REST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return [text, setText];
}

function useNow() {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
