// The elements of maps and sets. Service ports may want the same one: the ports of a service have one cluster IP, and
// services may claim the same external address. Then the first by its key has it, and the next when that goes.

import type {Element} from './port-rules.js';

const idOf = ({container, key}: Element): string => `${container} ${key}`;

const same = (a: Element | undefined, b: Element | undefined): boolean => a?.value === b?.value && a?.comment === b?.comment;

/** The elements that are wanted, and those that were written. */
export class Elements {
  readonly #at: string;
  /** By element, what each service port wants it to be. */
  readonly #wanted = new Map<string, Map<string, Element>>();
  readonly #written = new Map<string, Element>();
  readonly #changed = new Set<string>();

  constructor(at: string) {
    this.#at = at;
  }

  clear(): void {
    this.#wanted.clear();
    this.#written.clear();
    this.#changed.clear();
  }

  /** Replaces the elements of a service port. */
  replace(port: string, before: readonly Element[], now: readonly Element[]): void {
    for (const element of before) {
      const id = idOf(element);
      const claims = this.#wanted.get(id);
      claims?.delete(port);
      if (claims?.size === 0) this.#wanted.delete(id);
      this.#changed.add(id);
    }
    for (const element of now) {
      const id = idOf(element);
      const claims = this.#wanted.get(id) ?? new Map<string, Element>();
      this.#wanted.set(id, claims);
      claims.set(port, element);
      this.#changed.add(id);
    }
  }

  /** Returns the commands for what has changed since the last call. */
  flush(): string[] {
    const removed: string[] = [];
    const added: string[] = [];
    for (const id of this.#changed) {
      const wanted = this.#winner(id);
      const written = this.#written.get(id);
      if (wanted && written && same(wanted, written)) continue;
      if (written) removed.push(`delete element ${this.#at} ${written.container} { ${written.key} }`);
      if (wanted) added.push(`add element ${this.#at} ${wanted.container} { ${this.#text(wanted)} }`);
      if (wanted) this.#written.set(id, wanted);
      else this.#written.delete(id);
    }
    this.#changed.clear();
    return [...removed, ...added];
  }

  #winner(id: string): Element | undefined {
    let winner: [string, Element] | undefined;
    for (const claim of this.#wanted.get(id) ?? []) if (!winner || claim[0] < winner[0]) winner = claim;
    return winner?.[1];
  }

  #text({key, value, comment}: Element): string {
    return `${key}${comment === undefined ? '' : ` comment "${comment}"`}${value === undefined ? '' : ` : ${value}`}`;
  }
}
