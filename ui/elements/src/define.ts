// Custom elements have one registry for the whole page, and nobody can leave it.

/**
 * Registers a class and gives the name it has got: the plain one if it is free. Another version that came first keeps it, and this
 * one is used under a name of its own by its own elements only.
 */
export function define(name: string, element: CustomElementConstructor): string {
  for (let tries = 1, own = name; ; own = `${name}-${++tries}`) {
    if (customElements.get(own) === element) return own;
    if (customElements.get(own)) continue;
    customElements.define(own, element);
    return own;
  }
}
