// The list of examples, a plugin in GraphiQL's side bar. A click opens an example in a new tab; it never runs it.

import { useGraphiQL, useGraphiQLActions } from '@graphiql/react';

import { EXAMPLES, titleOf } from './examples.js';

export const EXAMPLES_PLUGIN = { title: 'Examples', icon: Icon, content: Examples };

function Examples() {
  const { addTab, setOperationName, updateActiveTabValues } = useGraphiQLActions();
  const editor = useGraphiQL((state) => state.queryEditor);
  const insert = (operation) => {
    addTab();
    editor.setValue(operation);
    // GraphiQL would set the tab's text and name only a moment later.
    updateActiveTabValues({ query: operation });
    setOperationName(titleOf(operation).name);
    editor.focus();
  };
  return (
    <section className="examples" aria-labelledby="examples">
      <h2 id="examples">Examples</h2>
      <p>A click opens one in a new tab. Nothing runs until you run it.</p>
      {EXAMPLES.map(({ callers, operations }) => (
        <div key={callers}>
          <h3>{callers}</h3>
          <ul>
            {operations.map((operation) => {
              const { kind, words } = titleOf(operation);
              return (
                <li key={words}>
                  <button type="button" disabled={!editor} onClick={() => insert(operation)}>{words} <small>{kind}</small></button>
                </li>
              );
            })}
          </ul>
        </div>
      ))}
    </section>
  );
}

function Icon(props) {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" {...props}>
      <path d="M8 6h12M8 12h12M8 18h12M3.5 6h.01M3.5 12h.01M3.5 18h.01" strokeLinecap="round" />
    </svg>
  );
}
