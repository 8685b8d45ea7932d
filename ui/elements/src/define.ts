// A page has a single registry of custom elements, and names cannot be unregistered.

/**
 * Registers a class and returns its name: the plain name if it is free. If another version has it, this version gets a
 * numbered name that only its own elements use.
 */
export function define(name: string, element: CustomElementConstructor): string {
  for (let tries = 1, own = name; ; own = `${name}-${++tries}`) {
    if (customElements.get(own) === element) return own;
    if (customElements.get(own)) continue;
    customElements.define(own, element);
    return own;
  }
}
