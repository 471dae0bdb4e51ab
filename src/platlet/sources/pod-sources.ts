// Merges the pods of all sources of a node.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {PodSource, SourceName} from './source.js';

export interface PodSourcesParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly sources: readonly PodSource[];
}

/** Is notified of the changes of sources. */
export interface PodFollower {
  /** Called with new pods, and with pods whose spec, labels, annotations or deletion have changed. */
  changed(pods: readonly Frozen<Pod>[]): void;
  /** Called with pods whose status only has changed. */
  reconciled(pods: readonly Frozen<Pod>[]): void;
  /** Called with the uid of a pod that is gone from its source. */
  removed(uid: string): void;
  /** Called with a pod whose full name another pod of its source has. */
  duplicate(pod: Frozen<Pod>): void;
  /** Whether pods that it was notified of still have to be admitted. */
  readonly isAdmitting: boolean;
}

/** Whether two versions of a pod differ only in status. */
const isSamePod = (a: Frozen<Pod>, b: Frozen<Pod>): boolean =>
  a.metadata?.deletionTimestamp === b.metadata?.deletionTimestamp &&
  a.metadata?.deletionGracePeriodSeconds === b.metadata?.deletionGracePeriodSeconds &&
  sameJson(a.spec, b.spec) &&
  sameJson(a.metadata?.labels, b.metadata?.labels) &&
  sameJson(a.metadata?.annotations, b.metadata?.annotations);

/** Merges the pods of all sources. */
export class PodSources {
  readonly #parts: PodSourcesParts;
  readonly #pods = new Map<SourceName, Map<string, Frozen<Pod>>>();
  readonly #seen = new Map<string, string>();
  /** The sources whose first pods the follower was notified of. */
  readonly #followed = new Set<SourceName>();
  #follower: PodFollower | undefined;
  #isReady = false;

  constructor(parts: PodSourcesParts) {
    this.#parts = parts;
  }

  /** Starts the sources, and reports their changes to a follower. */
  start(follower: PodFollower): void {
    this.#follower = follower;
    for (const source of this.#parts.sources) source.start(pods => this.#delivered(source.name, pods, follower));
  }

  /** Whether every source has delivered once, and it is decided whether the node takes those pods. */
  get isReady(): boolean {
    return (this.#isReady ||= this.#parts.sources.every(({name}) => this.#followed.has(name)) && this.#follower?.isAdmitting !== true);
  }

  isKnown(uid: string): boolean {
    for (const pods of this.#pods.values()) if (pods.has(uid)) return true;
    return false;
  }

  /** Returns the pods of all or of some sources. */
  *all(...of: readonly SourceName[]): Iterable<Frozen<Pod>> {
    for (const [name, pods] of this.#pods) if (of.length === 0 || of.includes(name)) yield* pods.values();
  }

  #delivered(source: SourceName, pods: readonly Frozen<Pod>[], follower: PodFollower): void {
    const before = this.#pods.get(source) ?? new Map<string, Frozen<Pod>>();
    const after = new Map<string, Frozen<Pod>>();
    const names = new Set<string>();
    const [changed, reconciled]: [Frozen<Pod>[], Frozen<Pod>[]] = [[], []];
    for (const delivered of pods) {
      const uid = delivered.metadata?.uid ?? '';
      const name = keyText(keyOf(delivered));
      if (names.has(name)) {
        follower.duplicate(delivered);
        continue;
      }
      names.add(name);
      const known = before.get(uid);
      const pod = this.#annotated(source, delivered);
      after.set(uid, pod);
      if (!known || !isSamePod(known, pod)) changed.push(pod);
      else if (!sameJson(known.status, pod.status)) reconciled.push(pod);
    }
    this.#pods.set(source, after);
    const isFirst = before.size === 0 && !changed.length && !reconciled.length;
    for (const uid of before.keys()) {
      if (after.has(uid)) continue;
      this.#seen.delete(uid);
      follower.removed(uid);
    }
    if (changed.length > 0) follower.changed(changed);
    if (reconciled.length > 0 || isFirst) follower.reconciled(reconciled);
    this.#followed.add(source);
  }

  /** Adds the annotations that are set by the node: the source of the pod and the time when it was first observed. */
  #annotated(source: SourceName, pod: Frozen<Pod>): Frozen<Pod> {
    const {naming, clock} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    let seen = this.#seen.get(uid);
    if (seen === undefined) this.#seen.set(uid, (seen = wireTime(clock.now())));
    const annotations = {...pod.metadata?.annotations, [naming.key('config.source')]: source, [naming.key('config.seen')]: seen};
    return {...pod, metadata: {...pod.metadata, annotations}};
  }
}
