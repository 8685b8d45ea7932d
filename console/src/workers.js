// Monaco's web workers. The build writes their addresses, which contain content hashes, into the page.

const { editorWorker, graphqlWorker, jsonWorker } = document.body.dataset;
const ADDRESSES = { graphql: graphqlWorker, json: jsonWorker };

globalThis.MonacoEnvironment = {
  getWorker: (_, label) => new Worker(ADDRESSES[label] ?? editorWorker, { type: 'module' }),
};
