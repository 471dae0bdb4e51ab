// Adoption and release of children by their selector and owner references. A parent adopts only after a read from the
// server, since the cache may be stale.

import type {Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isInvalid, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {controllerOf, controllerRefTo} from '#src/model/owners.js';
import {messageOf} from '#src/base/message.js';
import {aggregate} from '#controllers/shared/aggregate.js';

/** The kinds of parents and children. */
export interface ClaimerOptions<T extends KubeObject> {
  readonly client: Client;
  readonly parents: Kind;
  readonly children: Kind<T>;
}

export interface ClaimOptions<T extends KubeObject> {
  readonly selector: LabelSelector;
  /** A further condition besides the selector. */
  also?(child: Frozen<T>): boolean;
  /** Finalizers that are set with the owner reference and removed with it. */
  readonly finalizers?: readonly string[];
}

/**
 * Determines which of `children` belong to the parent: adopts orphans that it selects, releases children that it no
 * longer selects. Returns the parent's children. Rejects, after all were processed, if some could not be adopted or
 * released.
 */
export type Claim<T extends KubeObject> = (
  parent: Frozen<KubeObject>,
  children: readonly Frozen<T>[],
  how: ClaimOptions<T>,
) => Promise<Frozen<T>[]>;

const pathOf = ({metadata}: Frozen<KubeObject>): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/**
 * Returns a check that throws unless the parent exists on the server and is not being deleted: the cache may be stale.
 * Reads once, however often it is called.
 */
export const mayAdopt = (client: Client, kind: Kind, parent: Frozen<KubeObject>): (() => Promise<void>) => {
  const getLive = async () => {
    const {namespace, name = '', uid} = parent.metadata ?? {};
    const live = await client.resource(kind).get(name, namespace ? {namespace} : {});
    if (live.metadata?.uid !== uid)
      throw new Error(`original ${kind.kind} ${pathOf(parent)} is gone: got uid ${live.metadata?.uid}, wanted ${uid}`);
    return live;
  };
  const check = async () => {
    const live = await getLive().catch((error: unknown) => {
      throw new Error(`can't recheck DeletionTimestamp: ${messageOf(error)}`, {cause: error});
    });
    if (live.metadata?.deletionTimestamp) throw new Error(`${pathOf(live)} has just been deleted at ${live.metadata.deletionTimestamp}`);
  };
  let checked: Promise<void> | undefined;
  return () => (checked ??= check());
};

/** Returns what becomes of a child by the rules of controller references. Synchronous, as most are kept. */
const claimAction = <T extends KubeObject>(
  {metadata}: Frozen<KubeObject>,
  child: Frozen<T>,
  {selector, also}: Pick<ClaimOptions<T>, 'selector' | 'also'>,
): 'keep' | 'ignore' | 'adopt' | 'release' => {
  const {uid, deletionTimestamp, namespace} = metadata ?? {};
  const isSelected = () => selector.matches(child.metadata?.labels) && (also?.(child) ?? true);
  const owner = controllerOf(child);
  if (owner) {
    if (owner.uid !== uid) return 'ignore';
    if (isSelected()) return 'keep';
    return deletionTimestamp ? 'ignore' : 'release';
  }
  if (deletionTimestamp || child.metadata?.deletionTimestamp || namespace !== child.metadata?.namespace) return 'ignore';
  return isSelected() ? 'adopt' : 'ignore';
};

/** Writes the owner references of children. */
class References<T extends KubeObject> {
  readonly #options: ClaimerOptions<T>;
  readonly #parent: Frozen<KubeObject>;
  readonly #finalizers: readonly string[];
  readonly #mayAdopt: () => Promise<void>;

  constructor(options: ClaimerOptions<T>, parent: Frozen<KubeObject>, finalizers: readonly string[]) {
    this.#options = options;
    this.#parent = parent;
    this.#finalizers = finalizers;
    this.#mayAdopt = mayAdopt(options.client, options.parents, parent);
  }

  #patch({metadata}: Frozen<T>, change: object) {
    const {namespace, name = '', uid} = metadata ?? {};
    const {client, children} = this.#options;
    // The UID makes the patch conditional on this object.
    return client.resource(children).patch(name, 'strategic', {metadata: {uid, ...change}}, namespace ? {namespace} : {});
  }

  async adopt(child: Frozen<T>): Promise<void> {
    const {client, parents, children} = this.#options;
    try {
      await this.#mayAdopt();
    } catch (error) {
      throw new Error(`can't adopt ${children.kind} ${pathOf(child)} (${child.metadata?.uid}): ${messageOf(error)}`, {cause: error});
    }
    const finalizers = this.#finalizers.length > 0 ? {finalizers: this.#finalizers} : {};
    await this.#patch(child, {ownerReferences: [controllerRefTo(this.#parent, parents, client.naming)], ...finalizers});
  }

  async release(child: Frozen<T>): Promise<void> {
    const finalizers = this.#finalizers.length > 0 ? {'$deleteFromPrimitiveList/finalizers': this.#finalizers} : {};
    try {
      await this.#patch(child, {ownerReferences: [{$patch: 'delete', uid: this.#parent.metadata?.uid}], ...finalizers});
    } catch (error) {
      // It has no owners any more, or was recreated: in both cases it does not belong to the parent.
      if (!isInvalid(error)) throw error;
    }
  }
}

/** Claims children of one kind for parents of another, by the rules of controller references (adopt, keep, release). */
export const claimer =
  <T extends KubeObject>(options: ClaimerOptions<T>): Claim<T> =>
  async (parent, children, how) => {
    const references = new References(options, parent, how.finalizers ?? []);
    const claimed: Frozen<T>[] = [];
    const errors: unknown[] = [];
    for (const child of children) {
      const action = claimAction(parent, child, how);
      if (action === 'ignore') continue;
      try {
        if (action === 'adopt') await references.adopt(child);
        if (action === 'release') await references.release(child);
        else claimed.push(child);
      } catch (error) {
        if (!isNotFound(error)) errors.push(error);
      }
    }
    const failure = aggregate(errors);
    if (failure) throw failure;
    return claimed;
  };
