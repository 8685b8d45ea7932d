// A textarea with line numbers that indents, and what the console must know of a GraphQL document.

/** Wires one textarea and its gutter. `onEdit` hears the user's changes, `onCaret` where the caret went. */
export function startEditor(area, { onEdit, onCaret = () => {} }) {
  const gutter = area.previousElementSibling;
  // Escape lets the next Tab leave, so that the editor is no trap for the keyboard.
  let leaving = false;

  const number = () => {
    const lines = area.value.split('\n').length;
    gutter.textContent = Array.from({ length: lines }, (_, at) => at + 1).join('\n');
    gutter.scrollTop = area.scrollTop;
  };
  area.addEventListener('scroll', () => { gutter.scrollTop = area.scrollTop; });
  area.addEventListener('input', () => { number(); onEdit(); });
  area.addEventListener('blur', () => { leaving = false; });
  for (const name of ['keyup', 'click', 'focus']) area.addEventListener(name, () => onCaret(area.selectionStart));
  area.addEventListener('keydown', (event) => {
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey && !event.isComposing;
    if (event.key === 'Tab' && plain && !leaving) {
      event.preventDefault();
      insert(area, '  ');
    } else if (event.key === 'Enter' && plain) {
      event.preventDefault();
      insert(area, `\n${indentAt(area)}`);
    }
    leaving = event.key === 'Escape';
  });

  return {
    get text() { return area.value; },
    set text(value) {
      area.value = value;
      area.setSelectionRange(0, 0);
      area.scrollTo(0, 0);
      number();
    },
    goTo(line, column = 1) {
      const before = area.value.split('\n').slice(0, line - 1);
      const at = before.reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
      area.focus();
      area.setSelectionRange(at, at);
      onCaret(at);
    },
  };
}

/** execCommand is deprecated, but nothing else that types for the user keeps his undo history. */
function insert(area, text) {
  if (!document.execCommand('insertText', false, text)) {
    area.setRangeText(text, area.selectionStart, area.selectionEnd, 'end');
    area.dispatchEvent(new Event('input'));
  }
}

function indentAt(area) {
  const line = area.value.slice(0, area.selectionStart).split('\n').at(-1);
  const opens = /[{[(]\s*$/.test(line) ? '  ' : '';
  return line.match(/^ */)[0] + opens;
}

const TOKEN = /"""(?:\\"""|[^])*?"""|"(?:[^"\\\n]|\\.)*"|#[^\n\r]*|[{}()[\]]|[A-Za-z_]\w*/g;
const KINDS = ['query', 'mutation', 'subscription', 'fragment'];

/**
 * The operations of a document, in order: kind, name (null where it has none), start and end.
 *
 * It reads brackets and names only, so it also serves a document that is still being written.
 */
export function operationsIn(text) {
  const found = [];
  let depth = 0;
  let open = null;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token[0] === '#' || token[0] === '"') continue;
    if ('{(['.includes(token)) {
      if (depth === 0 && token === '{') open ??= { kind: 'query', name: null, start: index };
      depth += 1;
    } else if ('})]'.includes(token)) {
      depth = Math.max(0, depth - 1);
      if (depth === 0 && token === '}' && open) {
        found.push({ ...open, end: index + 1 });
        open = null;
      }
    } else if (depth === 0 && !open && KINDS.includes(token)) {
      open = { kind: token, name: null, start: index };
    } else if (depth === 0 && open && open.name === null) {
      open.name = token;
    }
  }
  if (open) found.push({ ...open, end: text.length });
  return found.filter((operation) => operation.kind !== 'fragment');
}
