// The editor's content when the page opens.

/**
 * GraphiQL's `initialQuery` and `initialVariables`. Keeps the last edited text unless it has a mutation, so that ▶ on a
 * freshly opened page changes nothing. If no tab has `query`, GraphiQL adds one and keeps the tab with the mutation.
 */
export function opening(kept, query) {
  const edited = kept?.getItem('graphiql:query');
  return edited && !/\bmutation\b/.test(edited) ? {} : { initialQuery: query, initialVariables: '' };
}
