// The Tidings console: wires the page together and runs what stands in the editor.
//
// The other modules know one pane each; only this file knows them all.

import { showAnswer, startCopy } from './answer.js';
import { refreshBell, startBell } from './bell.js';
import { post } from './client.js';
import { operationsIn, startEditor } from './editor.js';
import { OPERATIONS } from './operations.js';
import { byId, element, session, tabs } from './page.js';
import { openSchema, startSchema } from './schema.js';
import { role, startToken, token } from './token.js';
import { readVariables } from './variables.js';

let operation = OPERATIONS[0];
// The last answer of each tab, by id; kept in memory only, since answers hold users' mail.
const answers = new Map();
let running = null;

const query = startEditor(byId('query'), { onEdit: edited, onCaret: chooseAt });
const variables = startEditor(byId('variables'), { onEdit: edited });
const markOperation = tabs(byId('operations'), (tab) => openOperation(tab.dataset.operation));
const markView = tabs(byId('views'), (tab) => openView(tab));

// ---- the list on the left

function drawOperations() {
  const list = byId('operations');
  let group = null;
  for (const entry of OPERATIONS) {
    if (entry.group !== group) {
      group = entry.group;
      list.append(element('span', { class: 'group', 'aria-hidden': 'true' }, group));
    }
    list.append(element('button', {
      type: 'button', role: 'tab', id: `operation-${entry.id}`, 'aria-controls': 'workbench', 'data-operation': entry.id,
    }, entry.name));
  }
}

/** Dims what the token may not run, and dots what the user has changed. */
function markOperations() {
  for (const entry of OPERATIONS) {
    const tab = byId(`operation-${entry.id}`);
    tab.classList.toggle('closed', !mayRun(entry));
    tab.classList.toggle('changed', session.get(`document.${entry.id}`) !== null);
  }
}

function mayRun(entry) {
  return role() === null || entry.roles.includes(role());
}

function openOperation(id) {
  operation = OPERATIONS.find((entry) => entry.id === id) ?? OPERATIONS[0];
  session.set('operation', operation.id);
  const tab = byId(`operation-${operation.id}`);
  markOperation(tab);
  tab.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  byId('title').textContent = operation.name;
  fill(saved() ?? prepared());
  describe();
  showAnswer(answers.get(operation.id), query.goTo);
}

function describe() {
  const needed = operation.roles.length < 3 && `For ${operation.roles.join(' or ')} tokens.`;
  byId('about').replaceChildren(operation.about, needed ? ' ' : '',
    needed ? element('span', { class: mayRun(operation) ? 'faint' : 'warn' }, needed) : '');
}

// ---- documents

function prepared() {
  return { query: operation.query, variables: JSON.stringify(operation.variables, null, 2) };
}

function saved() {
  try {
    const kept = JSON.parse(session.get(`document.${operation.id}`));
    return typeof kept?.query === 'string' && typeof kept.variables === 'string' ? kept : null;
  } catch {
    return null;
  }
}

function fill(document) {
  query.text = document.query;
  variables.text = document.variables;
  inspect();
}

function edited() {
  const written = { query: query.text, variables: variables.text };
  const untouched = written.query === prepared().query && written.variables === prepared().variables;
  if (untouched) session.remove(`document.${operation.id}`);
  else session.set(`document.${operation.id}`, JSON.stringify(written));
  inspect();
}

/** Reads what stands in the editors and makes the buttons say so; returns what a run needs. */
function inspect() {
  const read = readVariables(variables.text);
  const problem = byId('variables-error');
  problem.hidden = !read.problem;
  problem.textContent = read.problem ?? '';
  byId('variables').setAttribute('aria-invalid', String(Boolean(read.problem)));

  const found = operationsIn(query.text);
  const choice = byId('operation');
  const names = found.map((entry) => entry.name ?? '(unnamed)');
  if ([...choice.options].map((option) => option.value).join() !== names.join()) {
    const before = choice.value;
    choice.replaceChildren(...names.map((name) => element('option', { value: name }, name)));
    if (names.includes(before)) choice.value = before;
  }
  byId('choice').hidden = found.length < 2;
  const chosen = found[Math.max(0, choice.selectedIndex)];
  drawRun(chosen);
  byId('reset').disabled = saved() === null;
  markOperations();
  return { read, chosen };
}

/** Several operations in one document: the one with the caret is the one to run. */
function chooseAt(caret) {
  const found = operationsIn(query.text);
  const at = found.findIndex((entry) => entry.start <= caret && caret <= entry.end);
  if (at >= 0 && at < byId('operation').options.length) byId('operation').selectedIndex = at;
  drawRun(found[Math.max(0, byId('operation').selectedIndex)]);
}

// ---- running

/** A mutation looks different: it reaches people. */
function drawRun(chosen) {
  const run = byId('run');
  const mutates = chosen?.kind === 'mutation';
  run.classList.toggle('mutation', mutates && !running);
  run.textContent = running ? 'Stop' : mutates ? 'Run mutation' : 'Run query';
}

async function run() {
  const { read, chosen } = inspect();
  if (running) return;
  if (read.problem) {
    byId('variables').focus();
    return;
  }
  const ran = operation.id;
  const request = { query: query.text };
  if (read.value) request.variables = read.value;
  if (chosen?.name) request.operationName = chosen.name;

  openView(byId('view-answer'));
  running = new AbortController();
  settle(ran, { running: true });
  let answer;
  try {
    answer = await post(request, { token: token(), signal: running.signal });
  } catch (error) {
    answer = { failure: failure(error, chosen) };
  }
  running = null;
  settle(ran, answer);
  // Where the answer stands below the editors it may be out of sight.
  byId('answer').parentElement.scrollIntoView({ block: 'nearest' });
  refreshBell();
}

function failure(error, chosen) {
  if (error.name === 'AbortError') {
    return chosen?.kind === 'mutation' ? 'Stopped waiting. The server may have carried it out all the same.' : 'Stopped.';
  }
  return `The server cannot be reached, or the request could not be sent.\n${error.message}`;
}

function settle(id, answer) {
  answers.set(id, answer);
  if (id === operation.id) showAnswer(answer, query.goTo);
  inspect();
}

// ---- the pane on the right

function openView(tab) {
  markView(tab);
  const schema = tab.id === 'view-schema';
  byId('answer').hidden = schema;
  byId('schema').hidden = !schema;
  byId('meta').hidden = schema;
  if (schema) openSchema();
}

// ---- start

drawOperations();
startBell();
startSchema();
startCopy(() => answers.get(operation.id));
byId('run').addEventListener('click', () => (running ? running.abort() : run()));
byId('reset').addEventListener('click', () => {
  session.remove(`document.${operation.id}`);
  fill(prepared());
});
byId('operation').addEventListener('change', inspect);
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.repeat) return;
  event.preventDefault();
  run();
});

openOperation(session.get('operation'));
// Typing or pasting a token changes it letter by letter; ask once it stands still.
let settled;
startToken(() => {
  markOperations();
  describe();
  clearTimeout(settled);
  settled = setTimeout(refreshBell, 250);
});
