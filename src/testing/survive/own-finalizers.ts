import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {nameOf} from './words.js';

/** The finalizers that the operator sets. */
export class OwnFinalizers {
  readonly #own = new Set<string>();
  readonly #others = new Set<string>();

  /** Notes the finalizers of a written object. */
  saw(object: KubeObject | undefined, isOperator: boolean): void {
    for (const finalizer of object?.metadata?.finalizers ?? []) {
      if (!isOperator) this.#others.add(finalizer);
      else if (!this.#others.has(finalizer)) this.#own.add(finalizer);
    }
  }

  /** Returns the deleted objects of the kinds that still wait for the operator, in words. */
  async left(client: Client, kinds: readonly Kind[]): Promise<readonly string[]> {
    if (this.#own.size === 0) return [];
    const lists = await Promise.all(kinds.map(async kind => [kind, (await client.resource(kind).list()).items] as const));
    return lists.flatMap(([{plural}, items]) =>
      items.flatMap(({metadata}) => {
        const finalizer = metadata?.finalizers?.find(each => this.#own.has(each));
        if (!metadata?.deletionTimestamp || finalizer === undefined) return [];
        const name = nameOf(metadata.namespace ?? '', metadata.name ?? '');
        return [`${plural} ${name} was deleted and is still there at the end: the operator has not removed its finalizer ${finalizer}`];
      }),
    );
  }
}
