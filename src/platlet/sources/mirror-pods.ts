// The mirror pods of static pods in the API.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {onAbort} from '#src/base/signals.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';

export interface MirrorPodsParts {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Returns the static pods of the node. */
  staticPods(): Iterable<Frozen<Pod>>;
  /** Returns the pods of the API bound to the node. */
  apiPods(): Iterable<Frozen<Pod>>;
  /** Returns the Node that owns the mirror pods; undefined before registration. */
  node(): Frozen<Node> | undefined;
}

/** Returns the mirror pod of a static pod. */
export const mirrorOf = (naming: Naming, apiPods: Iterable<Frozen<Pod>>, pod: Frozen<Pod>): Frozen<Pod> | undefined => {
  const key = keyText(keyOf(pod));
  for (const other of apiPods) if (isMirrorPod(naming, other) && keyText(keyOf(other)) === key) return other;
  return undefined;
};

/** The delay of retries. */
const retryMs = 10_000;

/** Maintains a mirror pod for each static pod. */
export class MirrorPods {
  readonly #parts: MirrorPodsParts;
  #isBusy = false;
  #isDirty = false;
  #retry: Disposable | undefined;

  constructor(parts: MirrorPodsParts) {
    this.#parts = parts;
    onAbort(parts.signal, () => this.#retry?.[Symbol.dispose]());
  }

  /** Syncs the mirror pods, now or after the current sync. Failures are retried. */
  reconcile(): void {
    this.#isDirty = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#retry?.[Symbol.dispose]();
    const {clock, signal} = this.#parts;
    withClockHeld(clock, async () => {
      let isDone = true;
      while (this.#isDirty && !signal.aborted) {
        this.#isDirty = false;
        isDone = await this.#all();
      }
      this.#isBusy = false;
      if (!isDone && !signal.aborted) this.#retry = clock.schedule(retryMs, () => this.reconcile());
    }).catch((error: unknown) => clock.unhandled(error));
  }

  get #pods() {
    return this.#parts.client.resource(kinds.pods);
  }

  /** Returns whether all mirror pods are up to date. */
  async #all(): Promise<boolean> {
    const {naming, staticPods, apiPods, log, signal} = this.#parts;
    let isDone = true;
    const attempt = async (work: () => Promise<boolean>): Promise<void> => {
      try {
        isDone = (await work()) && isDone;
      } catch (error) {
        isDone = false;
        if (!signal.aborted) log.warn({err: error}, 'failed to sync a mirror pod');
      }
    };
    const wanted = new Map([...staticPods()].map(pod => [keyText(keyOf(pod)), pod]));
    const existing = new Map([...apiPods()].flatMap(pod => (isMirrorPod(naming, pod) ? [[keyText(keyOf(pod)), pod] as const] : [])));
    for (const [key, mirror] of existing) {
      const pod = wanted.get(key);
      const isSame = pod && mirror.metadata?.annotations?.[naming.key('config.mirror')] === this.#hashOf(pod);
      if (!isSame || mirror.metadata?.deletionTimestamp) {
        await attempt(async () => {
          await this.#delete(mirror);
          return !pod || this.#create(pod);
        });
      }
    }
    for (const [key, pod] of wanted) if (!existing.has(key)) await attempt(() => this.#create(pod));
    return isDone;
  }

  #hashOf({metadata}: Frozen<Pod>): string {
    return metadata?.annotations?.[this.#parts.naming.key('config.hash')] ?? '';
  }

  async #delete({metadata}: Frozen<Pod>): Promise<void> {
    const {name = '', namespace = '', uid = ''} = metadata ?? {};
    await this.#pods.delete(name, {namespace, gracePeriodSeconds: 0, preconditions: {uid}}).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
  }

  /** Creates a mirror pod. Returns false without a Node, which has to own it. */
  async #create(pod: Frozen<Pod>): Promise<boolean> {
    const {naming} = this.#parts;
    const node = this.#parts.node();
    if (!node?.metadata?.uid) return false;
    const {name = '', namespace = '', labels, annotations} = pod.metadata ?? {};
    const owner = {apiVersion: 'v1', kind: kinds.nodes.kind, name: node.metadata.name ?? '', uid: node.metadata.uid, controller: true};
    const mirror = {
      metadata: {
        name,
        namespace,
        ...(labels ? {labels: {...labels}} : {}),
        annotations: {...annotations, [naming.key('config.mirror')]: this.#hashOf(pod)},
        ownerReferences: [owner],
      },
      spec: structuredClone(pod.spec) as NonNullable<Pod['spec']>,
    };
    await this.#pods.create(mirror).catch((error: unknown) => {
      // The deleted one still exists.
      if (!isAlreadyExists(error)) throw error;
    });
    return true;
  }
}
