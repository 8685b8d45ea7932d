// The schema panel: asks the server what it offers, on demand, and lets one walk through it.

import { post } from './client.js';
import { byId, element } from './page.js';
import { token } from './token.js';

// Four levels of TypeRef are enough for [T!]!, and stay well below the server's limits.
const INTROSPECTION = `query ConsoleSchema {
  __schema {
    queryType { name }
    mutationType { name }
    subscriptionType { name }
    types {
      kind name description
      fields(includeDeprecated: true) {
        name description isDeprecated deprecationReason
        args { ...Input }
        type { ...Ref }
      }
      inputFields { ...Input }
      enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
      interfaces { name }
      possibleTypes { name }
    }
  }
}
fragment Input on __InputValue { name description defaultValue type { ...Ref } }
fragment Ref on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`;

const SECTIONS = [
  ['Types', 'OBJECT'], ['Interfaces', 'INTERFACE'], ['Unions', 'UNION'],
  ['Inputs', 'INPUT_OBJECT'], ['Enums', 'ENUM'], ['Scalars', 'SCALAR'],
];

/** Hits shown for one search; a longer list helps nobody find anything. */
const HITS = 80;

let types = null;
let roots = [];
let loading = false;
// The pages walked through, newest last; null is the list of all types.
let trail = [null];

export function startSchema() {
  byId('schema-search').addEventListener('input', draw);
  byId('schema-reload').addEventListener('click', load);
  byId('schema-back').addEventListener('click', () => {
    if (byId('schema-search').value) byId('schema-search').value = '';
    else trail.pop();
    draw();
  });
}

/** Called whenever the panel comes into view; only the first time asks the server. */
export function openSchema() {
  if (!types && !loading) load();
}

async function load() {
  loading = true;
  const page = byId('schema-page');
  page.replaceChildren(element('p', { class: 'faint' }, 'Asking the server …'));
  try {
    const answer = await post({ query: INTROSPECTION, operationName: 'ConsoleSchema' }, { token: token() });
    const schema = answer.json?.data?.__schema;
    if (!schema) throw new Error(answer.json?.errors?.[0]?.message ?? `HTTP ${answer.status}`);
    take(schema);
    draw();
  } catch (error) {
    page.replaceChildren(element('p', { class: 'bad' }, `No schema: ${error.message}`));
  } finally {
    loading = false;
  }
}

function take(schema) {
  const own = schema.types.filter((type) => !type.name.startsWith('__'));
  own.sort((one, other) => one.name.localeCompare(other.name));
  types = new Map(own.map((type) => [type.name, type]));
  roots = [schema.queryType, schema.mutationType, schema.subscriptionType].flatMap((root) => root?.name ?? []);
  trail = trail.filter((name) => name === null || types.has(name));
}

function draw() {
  if (!types) return;
  const wanted = byId('schema-search').value.trim().toLowerCase();
  byId('schema-back').disabled = trail.length < 2 && !wanted;
  const page = byId('schema-page');
  const name = trail.at(-1);
  if (wanted) page.replaceChildren(...hits(wanted));
  else page.replaceChildren(...(name ? typePage(types.get(name)) : index()));
  page.scrollTo(0, 0);
}

/** Shows a type's page, and one of its fields where there is one to point at. */
function visit(name, field) {
  byId('schema-search').value = '';
  if (trail.at(-1) !== name) trail.push(name);
  draw();
  const page = byId('schema-page');
  // The clicked button is gone; the focus must not fall back to the top of the document.
  page.focus({ preventScroll: true });
  const target = field && [...page.querySelectorAll('[data-field]')].find((row) => row.dataset.field === field);
  if (target) {
    target.classList.add('found');
    target.scrollIntoView({ block: 'center' });
  }
}

function index() {
  const block = (title, list) => list.length > 0 && [
    element('h3', {}, title),
    element('ul', { class: 'index' }, list.map((type) =>
      element('li', {}, link(type.name), type.description && element('p', {}, ...prose(firstLine(type.description)))))),
  ];
  const known = [...types.values()];
  return [
    block('Roots', roots.map((name) => types.get(name))),
    ...SECTIONS.map(([title, kind]) => block(title, known.filter((type) => type.kind === kind && !roots.includes(type.name)))),
  ].filter(Boolean).flat();
}

function typePage(type) {
  const related = (title, list) => list?.length > 0 && element('p', { class: 'related' }, title, ' ',
    list.flatMap((other, at) => [at > 0 ? ', ' : null, link(other.name)]));
  return [
    element('h3', { class: 'type-name' }, type.name, ' ', element('span', { class: 'chip' }, type.kind.toLowerCase().replace('_', ' '))),
    type.description && element('p', { class: 'prose' }, ...prose(type.description)),
    related('Implements', type.interfaces),
    related('Is one of', type.possibleTypes),
    rows(type.fields ?? type.inputFields),
    rows(type.enumValues),
  ].filter(Boolean);
}

function rows(members) {
  return members?.length > 0 && element('ul', { class: 'fields' }, members.map(row));
}

function row(member) {
  const args = member.args ?? [];
  return element('li', { 'data-field': member.name },
    element('div', { class: 'signature' },
      element('span', { class: member.isDeprecated ? 'name struck' : 'name' }, member.name),
      args.length > 0 && ['(', args.flatMap((arg, at) => [at > 0 ? ', ' : null, element('span', { class: 'arg' }, arg.name), ': ', ...ref(arg.type), initial(arg)]), ')'],
      member.type && [': ', ...ref(member.type)],
      initial(member)),
    member.isDeprecated && element('p', { class: 'warn' }, `Deprecated. ${member.deprecationReason ?? ''}`),
    member.description && element('p', { class: 'prose' }, ...prose(member.description)),
    args.some((arg) => arg.description) && element('dl', {}, args.filter((arg) => arg.description).map((arg) => [
      element('dt', {}, arg.name), element('dd', {}, ...prose(arg.description))]).flat()));
}

function initial(input) {
  return input.defaultValue != null && element('span', { class: 'faint' }, ` = ${input.defaultValue}`);
}

function ref(type) {
  if (type.kind === 'NON_NULL') return [...ref(type.ofType), '!'];
  if (type.kind === 'LIST') return ['[', ...ref(type.ofType), ']'];
  return [link(type.name)];
}

function link(name, field) {
  return element('button', { type: 'button', class: 'link', onclick: () => visit(name, field) },
    field ? `${name}.${field}` : name);
}

/** Names that begin with what was typed come first, then names that contain it, then descriptions. */
function hits(wanted) {
  const found = [];
  const weigh = (name, description, type, field) => {
    const at = name.toLowerCase().indexOf(wanted);
    const rank = at === 0 ? 0 : at > 0 ? 1 : description?.toLowerCase().includes(wanted) ? 2 : 3;
    if (rank < 3) found.push({ rank, type, field, description });
  };
  for (const type of types.values()) {
    weigh(type.name, type.description, type.name);
    for (const member of type.fields ?? type.inputFields ?? type.enumValues ?? []) {
      weigh(member.name, member.description, type.name, member.name);
    }
  }
  found.sort((one, other) => one.rank - other.rank);
  return [
    element('p', { class: 'faint' }, found.length === 0 ? 'Nothing by that name.'
      : found.length > HITS ? `The first ${HITS} of ${found.length}` : `${found.length} found`),
    element('ul', { class: 'index' }, found.slice(0, HITS).map(({ type, field, description }) =>
      element('li', {}, link(type, field), description && element('p', {}, ...prose(firstLine(description)))))),
  ];
}

function firstLine(text) {
  return text.trim().split(/\n\s*\n/)[0];
}

/** Text with its `code` set as code; the rest of Markdown is left as it is written. */
function prose(text) {
  return text.trim().split(/`([^`\n]+)`/).map((part, at) => (at % 2 ? element('code', {}, part) : part));
}
