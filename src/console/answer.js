// Shows one answer: status, time and size, the errors in words, and the JSON, coloured.

import { byId, element } from './page.js';

/** Past this many characters the JSON is shown without colours: 100,000 elements would stall the page. */
const COLOURED_CHARS = 300_000;

/** Shows `answer`, or what a pane without one should say. `goTo(line, column)` leads to an error's place. */
export function showAnswer(answer, goTo) {
  const json = byId('json');
  const copy = byId('copy');
  const errors = Array.isArray(answer?.json?.errors) ? answer.json.errors : [];
  showErrors(errors, goTo);
  copy.hidden = !answer?.text || !navigator.clipboard;
  json.scrollTo?.(0, 0);

  if (!answer) {
    json.replaceChildren(element('span', { class: 'faint' }, 'Nothing has been run here yet.\nCtrl or ⌘ + Enter runs the operation.'));
    showMeta();
  } else if (answer.running) {
    json.replaceChildren();
    showMeta(element('span', { class: 'faint' }, 'Running …'));
  } else if (answer.failure) {
    json.replaceChildren(element('span', { class: 'bad' }, answer.failure));
    showMeta(element('span', { class: 'pill bad' }, 'No answer'));
  } else {
    if (answer.json === undefined) json.replaceChildren(answer.text || element('span', { class: 'faint' }, '(empty body)'));
    else json.replaceChildren(answer.text.length > COLOURED_CHARS ? plain(answer.text) : coloured(answer.text));
    const mark = answer.status >= 400 ? 'bad' : errors.length ? 'warn' : 'good';
    const retry = answer.retryAfter && element('span', {}, `retry after ${answer.retryAfter} s`);
    showMeta(
      element('span', { class: `pill ${mark}` }, `HTTP ${answer.status}`), retry,
      element('span', { title: 'From sending to the last byte' }, duration(answer.elapsed_ms)),
      element('span', { title: `${answer.bytes} bytes, uncompressed` }, size(answer.bytes)),
    );
  }
}

/** Wires the copy button; `current` gives the answer that is on show. */
export function startCopy(current) {
  const copy = byId('copy');
  copy.addEventListener('click', async () => {
    const answer = current();
    try {
      await navigator.clipboard.writeText(answer.json === undefined ? answer.text : plain(answer.text));
      copy.textContent = 'Copied';
    } catch {
      copy.textContent = 'Refused by the browser';
    }
    setTimeout(() => { copy.textContent = 'Copy'; }, 1500);
  });
}

function showMeta(...parts) {
  byId('meta').replaceChildren(...parts.filter(Boolean));
}

function showErrors(errors, goTo) {
  const list = byId('errors');
  list.hidden = errors.length === 0;
  list.replaceChildren(...errors.map((error) => {
    const place = error?.locations?.[0];
    const path = Array.isArray(error?.path) ? error.path.join('.') : null;
    return element('li', {},
      element('strong', {}, String(error?.extensions?.code ?? 'ERROR')), ' ',
      String(error?.message ?? ''),
      path && element('span', { class: 'faint' }, ` · at ${path}`),
      error?.extensions?.field && element('span', { class: 'faint' }, ` · field ${error.extensions.field}`),
      place && element('span', { class: 'faint' }, ' · '),
      place && element('button', { type: 'button', class: 'link', onclick: () => goTo(place.line, place.column) },
        `line ${place.line}`));
  }));
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;

/**
 * Indents JSON without reading its values: [kind, text] pieces of the text as the server wrote it.
 * Printing the parsed value instead would round large numbers and reorder keys that look like numbers.
 */
function* pieces(text) {
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const next = tokens[at + 1];
    if (token === '{' || token === '[') {
      if (next === '}' || next === ']') {
        yield ['', token + next];
        at += 1;
      } else {
        depth += 1;
        yield ['', token + line()];
      }
    } else if (token === '}' || token === ']') {
      depth -= 1;
      yield ['', line() + token];
    } else if (token === ',') yield ['', token + line()];
    else if (token === ':') yield ['', ': '];
    else if (token[0] === '"') yield [next === ':' ? 'key' : 'string', token];
    else yield [/^[tfn]/.test(token) ? 'word' : 'number', token];
  }
}

function plain(text) {
  return Array.from(pieces(text), (piece) => piece[1]).join('');
}

function coloured(text) {
  const made = document.createDocumentFragment();
  let between = '';
  for (const [kind, piece] of pieces(text)) {
    if (!kind) {
      between += piece;
      continue;
    }
    made.append(between, element('span', { class: kind }, piece));
    between = '';
  }
  made.append(between);
  return made;
}

function duration(elapsed_ms) {
  if (elapsed_ms >= 10_000) return `${(elapsed_ms / 1000).toFixed(1)} s`;
  return `${elapsed_ms.toFixed(elapsed_ms < 10 ? 1 : 0)} ms`;
}

function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
