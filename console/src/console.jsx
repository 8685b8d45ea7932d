// The page: GraphiQL, and above it who is calling.

import { GraphiQL } from 'graphiql';
import { useEffect, useMemo, useState } from 'react';

import { Bell } from './bell.jsx';
import { Caller } from './caller.jsx';
import { connect } from './connection.js';
import { Offer } from './offer.jsx';
import { tabs } from './operations.js';
import { storage } from './storage.js';
import * as tokens from './token.js';

export function Console() {
  const [{ token, offered }, setCalling] = useState(tokens.first);
  // What the server said of which token last.
  const [verdict, setVerdict] = useState({});
  const [resets, setResets] = useState(0);

  useEffect(() => tokens.keep(token), [token]);
  useEffect(() => {
    const onHash = () => {
      const token = tokens.take();
      setCalling((calling) => tokens.linked(calling, token));
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);

  const { fetcher, socket } = useMemo(() => connect(token, (said) => setVerdict({ ...said, token })), [token]);
  useEffect(() => () => void socket.dispose(), [socket]);

  const claims = tokens.claimsOf(token);
  const isUser = claims?.role === 'USER';
  // Users and operators have tabs of their own, which come back with the next token of the kind.
  const kind = isUser ? 'user' : 'operator';
  const kept = useMemo(() => storage(kind), [kind]);
  const reset = () => {
    kept?.clear();
    setResets(resets + 1);
  };

  return (
    <div className="graphiql-container console">
      <header>
        <h1>
          <svg aria-hidden="true"><use href="#bell" /></svg>
          Tidings <small>console</small>
        </h1>
        <Caller
          token={token} claims={claims} verdict={verdict.token === token ? verdict : {}}
          onToken={(text) => setCalling((calling) => ({ ...calling, token: tokens.clean(text) }))}
        />
        {offered !== null && (
          <Offer
            isReplaced={token !== ''} from={claims} to={tokens.claimsOf(offered)}
            onReplace={() => setCalling({ token: offered, offered: null })} onKeep={() => setCalling({ token, offered: null })}
          />
        )}
        <button type="button" onClick={reset} title="Open the prepared tabs again, and forget all others">Reset tabs</button>
        {isUser && <Bell token={token} />}
      </header>
      <GraphiQL
        key={`${kind}${resets}`} fetcher={fetcher} storage={kept} defaultTabs={tabs(kind)}
        isHeadersEditorEnabled={false} shouldPersistHeaders={false} showPersistHeadersSettings={false}
        defaultEditorToolsVisibility={false} schemaDescription inputValueDeprecation
      />
    </div>
  );
}
