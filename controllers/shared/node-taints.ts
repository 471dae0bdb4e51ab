// Changes of a node's taints in one write.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {jittered, type Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import type {Taint} from '#src/model/taints.js';

const same = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;

export const hasTaint = ({spec}: Frozen<Node>, taint: Taint): boolean => (spec?.taints ?? []).some(each => same(each, taint));

/** The taints to add and remove. */
export interface TaintChange {
  readonly add?: readonly Taint[];
  readonly remove?: readonly Taint[];
}

const maxAttempts = 5;
const conflictMs = 100;

export interface TaintParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Waits between retries on conflicts. */
  pause(ms: number): Promise<void>;
}

const changed = ({spec}: Frozen<Node>, {add = [], remove = []}: TaintChange, now: number): Frozen<Taint>[] | undefined => {
  const before: readonly Frozen<Taint>[] = spec?.taints ?? [];
  const missing = add.filter(taint => !before.some(each => same(each, taint)));
  const kept = before.filter(taint => !remove.some(each => same(each, taint)));
  if (missing.length === 0 && kept.length === before.length) return undefined;
  return [...kept, ...missing.map(taint => ({...taint, timeAdded: wireTime(now)}))];
};

/**
 * Changes a node's taints in one write, first from the cached node, then from the live one. Does nothing if there is no
 * change; rejects after too many conflicts.
 */
export const changeTaints = async (
  {client, clock, random, signal, pause}: TaintParts,
  node: Frozen<Node>,
  change: TaintChange,
): Promise<void> => {
  const nodes = client.resource(kinds.nodes);
  const {name = '', uid} = node.metadata ?? {};
  for (let known = node, attempt = 1; ; attempt++) {
    const taints = changed(known, change, clock.now());
    if (!taints) return;
    const body = {metadata: {uid, resourceVersion: known.metadata?.resourceVersion}, spec: {taints: taints.length > 0 ? taints : null}};
    try {
      await withClockHeld(clock, () => nodes.patch(name, 'strategic', body, {signal}));
      return;
    } catch (error) {
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
    }
    await pause(jittered(random, conflictMs, 1));
    known = await withClockHeld(clock, () => nodes.get(name, {signal}));
    if (known.metadata?.uid !== uid) return;
  }
};
