// What stands in the editor when the page opens.

/**
 * GraphiQL's `initialQuery` and `initialVariables`: what was edited last, unless that has a mutation. ▶ on a page that was just opened
 * changes nothing. GraphiQL adds a tab with `query` where none has it, and keeps the tab with the mutation beside it.
 */
export function opening(kept, query) {
  const edited = kept?.getItem('graphiql:query');
  return edited && !/\bmutation\b/.test(edited) ? {} : { initialQuery: query, initialVariables: '' };
}
