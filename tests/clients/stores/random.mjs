// Reproducible random numbers: the same seed gives the same numbers.

/** The random numbers of a seed (mulberry32), and choices made with them. */
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** From 0 to less than 1. */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit) {
    return Math.floor(this.next() * limit);
  }

  happens(chance) {
    return this.next() < chance;
  }

  one(list) {
    return list[this.below(list.length)];
  }

  /** 1 to `most` different elements of a list, or fewer if the list is shorter. */
  some(list, most) {
    const left = [...list];
    const count = Math.min(left.length, 1 + this.below(most));
    return Array.from({ length: count }, () => left.splice(this.below(left.length), 1)[0]);
  }

  /** A name from a table of names and weights. */
  weighed(table) {
    const entries = Object.entries(table);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return entries.at(-1)[0];
  }
}
