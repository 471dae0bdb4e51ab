// Names of pods that are to be created. A controller chooses them, so that a creation whose outcome is unknown (the
// response was lost, or came too late) can be repeated under the same name: it creates the pod at most once, whenever
// the first attempt takes effect. Upstream leaves the names to the server, and may create one pod too many then.

import type {Lister} from '#informers/lister.js';
import {keyText, type Frozen} from '#src/api/key.js';
import {generatedName} from '#src/api/names.js';
import type {Pod} from '#src/api/pod.js';
import {isAlreadyExists, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {podNamePrefix} from './pod-control.js';

/** How long a creation may take effect after its failure. */
const undecidedMs = 300_000;

/**
 * What distinguishes a pod from the others of its parent: nothing for replicas. A name is only used again for an equal
 * one.
 */
export interface PodPlace {
  /** For example the node, or the index. */
  readonly slot?: string;
  /** By default that of the parent. */
  readonly generateName?: string;
}

/** A pod that is to be created under a name. */
export interface PlannedPod {
  readonly name: string;
  /** The key of the pod. */
  readonly key: string;
  readonly slot: string;
  readonly generateName: string;
  /** Whether an earlier creation under this name may take effect. */
  readonly isRepeated: boolean;
}

interface Undecided {
  readonly name: string;
  readonly slot: string;
}

export interface PodNames {
  /**
   * Returns the pods with a name for each. To be called together with the expectation of its creation: a pod that is in
   * the cache by then is not among those that are created again.
   */
  plan(parent: Frozen<KubeObject>, places: readonly PodPlace[]): readonly PlannedPod[];
  /** Records that a creation failed, or was not attempted: its name is used again where the pod may exist. */
  notCreated(parent: Frozen<KubeObject>, pod: PlannedPod, error?: unknown): void;
}

/** Whether an error says that nothing was or will be stored. */
const isRefusal = (error: unknown): boolean => error instanceof StatusError && error.code >= 400 && error.code < 500 && error.code !== 408;

export const podNames = (pods: Lister<Pod>, clock: Clock, random: Random): PodNames => {
  /** By the UID of the parent, in the order of the last failure. */
  const byParent = new Map<string, {readonly at: number; readonly open: Undecided[]}>();

  const forgetOld = (): void => {
    for (const [uid, {at}] of byParent) {
      if (clock.monotonic() - at <= undecidedMs) return;
      byParent.delete(uid);
    }
  };
  const fresh = (prefix: string, namespace: string): string => {
    for (;;) {
      const name = generatedName(prefix, random);
      if (!pods.get({namespace, name})) return name;
    }
  };
  return {
    plan({metadata: {uid = '', namespace = '', name: parent = ''} = {}}, places) {
      forgetOld();
      const known = byParent.get(uid);
      const open = known?.open.filter(({name}) => !pods.get({namespace, name})) ?? [];
      const planned = places.map(({slot = '', generateName = podNamePrefix(parent)}) => {
        const at = open.findIndex(undecided => undecided.slot === slot);
        const name = at < 0 ? fresh(generateName, namespace) : open.splice(at, 1)[0]!.name;
        return {name, key: keyText({namespace, name}), slot, generateName, isRepeated: at >= 0};
      });
      if (known) known.open.splice(0, Infinity, ...open);
      return planned;
    },
    notCreated({metadata: {uid = ''} = {}}, {name, slot, isRepeated}, error) {
      // A repeated creation that is refused says nothing of the first one, unless the name turns out to be taken by
      // another pod.
      if (isRepeated ? isAlreadyExists(error) : error === undefined || isRefusal(error)) return;
      const {open} = byParent.get(uid) ?? {open: []};
      byParent.delete(uid);
      byParent.set(uid, {at: clock.monotonic(), open: [...open, {name, slot}]});
    },
  };
};
