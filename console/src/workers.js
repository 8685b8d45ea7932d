// Monaco's helpers in threads of their own. The build writes their addresses, which change with their content, into the
// page.

const { editorWorker, graphqlWorker, jsonWorker } = document.body.dataset;
const ADDRESSES = { graphql: graphqlWorker, json: jsonWorker };

globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(ADDRESSES[label] ?? editorWorker, { type: 'module' }),
};
