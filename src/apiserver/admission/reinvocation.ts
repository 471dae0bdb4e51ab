import {sameContent} from '#src/api/equal.js';
import type {KubeObject} from '#src/api/types.js';
import {copied} from '#src/schema/decode/plain.js';

/** What is remembered of a request between its two rounds, of those who want to be asked again when something changes after them. */
export class Reinvocation {
  #invoked = new Set<string>();
  readonly #due = new Set<string>();
  #output: KubeObject | undefined;

  /** Begins the second round: who was asked is due again if somebody else changed the object. */
  again(object: Readonly<KubeObject> | undefined): void {
    if (this.#invoked.size > 0 && !sameContent(this.#output, object)) this.changed();
  }

  /** The object has changed: those who were asked until now are due. */
  changed(): void {
    for (const key of this.#invoked) this.#due.add(key);
    this.#invoked = new Set();
  }

  /** Notes who was asked and wants to be again. */
  invoked(key: string): void {
    this.#invoked.add(key);
  }

  isDue(key: string): boolean {
    return this.#due.has(key);
  }

  /** Ends a round. */
  finished(object: Readonly<KubeObject> | undefined): void {
    this.#output = this.#invoked.size > 0 && object ? (copied(object) as KubeObject) : undefined;
  }
}
