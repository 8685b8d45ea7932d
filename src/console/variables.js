// The variables editor's text as an object, or in words what is wrong with it and where.

/** Reads the text; an empty one is no variables at all. */
export function readVariables(text) {
  if (!text.trim()) return { value: undefined };
  const problem = faultIn(text);
  if (problem) return { problem };
  const value = JSON.parse(text);
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { problem: 'Variables are one JSON object: { "name": value }.' };
  }
  return { value };
}

const TOKEN = /[ \t\n\r]*("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[{}[\],:])/y;

/**
 * The first thing that JSON does not allow where it stands, with line and column; null for sound JSON.
 *
 * Browsers' own messages differ, and most name no place in a text of several lines.
 */
function faultIn(text) {
  let end = 0;
  let token;
  const advance = () => {
    TOKEN.lastIndex = end;
    token = TOKEN.exec(text)?.[1];
    if (token !== undefined) end = TOKEN.lastIndex;
  };
  const isString = () => token?.[0] === '"';
  const expect = (sound, wanted) => {
    if (!sound) throw new SyntaxError(wanted);
    advance();
  };
  const list = (close, member) => {
    advance();
    for (let first = true; first ? token !== close : token === ','; first = false) {
      if (!first) advance();
      member();
    }
    expect(token === close, `"," or "${close}"`);
  };
  const value = () => {
    if (token === '[') list(']', value);
    else if (token === '{') list('}', entry);
    else expect(token !== undefined && !'}],:'.includes(token), 'a value');
  };
  const entry = () => {
    expect(isString(), 'a name in double quotes');
    expect(token === ':', '":"');
    value();
  };

  advance();
  try {
    value();
    if (token === undefined && /^[ \t\n\r]*$/.test(text.slice(end))) return null;
    throw new SyntaxError('the end');
  } catch (error) {
    if (!(error instanceof SyntaxError)) return 'Nested too deeply.';
    return `${place(text, end - (token?.length ?? 0), token)}: expected ${error.message}`;
  }
}

function place(text, before, token) {
  const at = token === undefined ? before + text.slice(before).match(/^[ \t\n\r]*/)[0].length : before;
  const lines = text.slice(0, at).split('\n');
  const found = at >= text.length ? 'the end of the text' : text.slice(at).match(/^(?:[\w.+-]+|"[^"\n]{0,20}"?|.)/u)[0];
  return `Line ${lines.length}, column ${lines.at(-1).length + 1}, at ${found}`;
}
