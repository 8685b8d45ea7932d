// Ground of the console: building elements, remembering for the session, lists of tabs.

/** The element with this id; a missing one is a mistake in index.html and should be loud. */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no #${id}`);
  return found;
}

/**
 * Builds an element. Strings among the children become text nodes, so that data from the server can
 * never turn into markup; nothing in the console uses innerHTML.
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return made;
}

/** What is kept until the browser tab closes; where storage is forbidden, until the page does. */
const spare = new Map();
export const session = {
  get(key) {
    try {
      return sessionStorage.getItem(`tidings.${key}`) ?? spare.get(key) ?? null;
    } catch {
      return spare.get(key) ?? null;
    }
  },
  set(key, value) {
    spare.set(key, value);
    try {
      sessionStorage.setItem(`tidings.${key}`, value);
    } catch {
      // Full or forbidden: the copy in memory serves.
    }
  },
  remove(key) {
    spare.delete(key);
    try {
      sessionStorage.removeItem(`tidings.${key}`);
    } catch {
      // Forbidden: there is nothing to remove.
    }
  },
};

/**
 * Makes the role=tab buttons inside `list` one stop of the Tab key, walked with the arrow keys, and
 * returns the function that marks one as selected. `onSelect` hears the button that the user chose.
 */
export function tabs(list, onSelect) {
  const all = () => [...list.querySelectorAll('[role=tab]')];
  const mark = (chosen) => {
    for (const tab of all()) {
      tab.setAttribute('aria-selected', String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
  };
  list.addEventListener('click', (event) => {
    const tab = event.target.closest('[role=tab]');
    if (tab) onSelect(tab);
  });
  list.addEventListener('keydown', (event) => {
    const stops = all();
    const at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    let next;
    if (at >= 0 && step) next = stops[(at + step + stops.length) % stops.length];
    else if (event.key === 'Home') next = stops[0];
    else if (event.key === 'End') next = stops.at(-1);
    if (!next) return;
    event.preventDefault();
    onSelect(next);
    next.focus();
  });
  return mark;
}
