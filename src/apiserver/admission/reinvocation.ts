import {sameContent} from '#src/api/equal.js';
import type {KubeObject} from '#src/api/types.js';
import {copied} from '#src/schema/decode/plain.js';

/**
 * The state of a request between first invocation and reinvocation: the webhooks or policies to invoke again because of
 * later changes.
 */
export class Reinvocation {
  #invoked = new Set<string>();
  readonly #due = new Set<string>();
  #output: KubeObject | undefined;

  /** Starts the reinvocation: those invoked before are due if other plugins changed the object. */
  again(object: Readonly<KubeObject> | undefined): void {
    if (this.#invoked.size > 0 && !sameContent(this.#output, object)) this.changed();
  }

  /** Called after a change of the object: those invoked until now are due. */
  changed(): void {
    for (const key of this.#invoked) this.#due.add(key);
    this.#invoked = new Set();
  }

  /** Records an invocation that allows reinvocation. */
  invoked(key: string): void {
    this.#invoked.add(key);
  }

  isDue(key: string): boolean {
    return this.#due.has(key);
  }

  /** Ends an invocation of the plugin. */
  finished(object: Readonly<KubeObject> | undefined): void {
    this.#output = this.#invoked.size > 0 && object ? (copied(object) as KubeObject) : undefined;
  }
}
