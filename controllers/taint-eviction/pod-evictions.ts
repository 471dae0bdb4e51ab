import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Taint} from '#src/model/taints.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {decideEviction} from './decide.js';
import {evictor, evictionEvents} from './evict.js';
import {timers} from './timers.js';

/** The scheduled evictions of pods. */
export interface PodEvictions {
  cancel(key: ObjectKey): void;
  /** Cancels an eviction scheduled for another pod of the name. */
  cancelOthers(pod: Frozen<Pod>): void;
  /** Schedules or cancels the eviction of a pod by the NoExecute taints of its node. */
  update(pod: Frozen<Pod>, taints: readonly Taint[]): void;
  stop(): void;
}

/** Returns the scheduled evictions of a controller: none at first. */
export const podEvictions = (context: ControllerContext): PodEvictions => {
  const {clock} = context;
  const pending = timers(clock);
  const evict = evictor(context);
  const events = evictionEvents(context);

  const evictions: PodEvictions = {
    cancel(key) {
      if (pending.cancel(keyText(key))) events.recordCancelled(key);
    },
    cancelOthers(pod) {
      const key = keyOf(pod);
      if (pending.cancelOthers(keyText(key), pod.metadata?.uid ?? '')) events.recordCancelled(key);
    },
    update(pod, taints) {
      const key = keyOf(pod);
      const {uid = ''} = pod.metadata ?? {};
      evictions.cancelOthers(pod);
      const {isCancelled, delayMs} = decideEviction(taints, pod.spec?.tolerations, pending.isPending(keyText(key), uid));
      if (isCancelled) evictions.cancel(key);
      if (delayMs === undefined) return;
      const fireAt = clock.now() + delayMs;
      // An eviction that is in progress or done is left alone.
      pending.add(keyText(key), {uid, fireAt}, async () => {
        events.recordMarked(key);
        await evict(key, uid, fireAt);
      });
    },
    stop: () => pending.stop(),
  };
  return evictions;
};
