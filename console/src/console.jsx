// The page: GraphiQL under a bar with the caller's token.

import { HISTORY_PLUGIN } from '@graphiql/plugin-history';
import { GraphiQL } from 'graphiql';
import { useEffect, useMemo, useState } from 'react';

import { Caller } from './caller.jsx';
import { connect } from './connection.js';
import { FIRST_QUERY } from './examples.js';
import { EXAMPLES_PLUGIN } from './examples.jsx';
import { Offer } from './offer.jsx';
import { storage } from './storage.js';
import { opening } from './tabs.js';
import * as tokens from './token.js';

const PLUGINS = [EXAMPLES_PLUGIN, HISTORY_PLUGIN];

/** Storage for GraphiQL: tabs, history and theme. */
const kept = storage('graphiql');
const atFirst = opening(kept, FIRST_QUERY);

/** Whether the list of examples fits next to the editor. */
const hasRoom = matchMedia('(width >= 900px)').matches;

export function Console() {
  const [{ token, offered }, setCalling] = useState(tokens.first);
  // The server's last verdict, and the token it is about.
  const [verdict, setVerdict] = useState({});

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
      </header>
      <GraphiQL
        fetcher={fetcher} storage={kept} {...atFirst} plugins={PLUGINS} visiblePlugin={hasRoom ? EXAMPLES_PLUGIN : undefined}
        isHeadersEditorEnabled={false} shouldPersistHeaders={false} showPersistHeadersSettings={false}
        defaultEditorToolsVisibility={false} schemaDescription inputValueDeprecation
      />
    </div>
  );
}
