import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {onAbort} from '#src/base/signals.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';
import type {PodSource} from './source.js';

export interface ApiSourceParts {
  readonly naming: Naming;
  /** The pods bound to the node. */
  readonly informer: Pick<SharedInformer<Pod>, 'lister' | 'listen' | 'whenSynced'>;
  /** Resolves when pods may be delivered; absent: at once. Called at the start. */
  readonly ready?: (() => Promise<unknown>) | undefined;
  readonly signal: AbortSignal;
  /** Called with the error while the list of pods fails. */
  failed(error: unknown): void;
}

/** Delivers the pods bound to the node, except mirror pods. */
export const apiSource = ({naming, informer, ready, signal, failed}: ApiSourceParts): PodSource => ({
  name: 'api',
  start(deliver) {
    let isQueued = false;
    const all = (): Frozen<Pod>[] => informer.lister.list().filter(pod => !isMirrorPod(naming, pod));
    const changed = (): void => {
      if (isQueued) return;
      isQueued = true;
      // Changes within one tick are delivered together.
      queueMicrotask(() => {
        isQueued = false;
        if (!signal.aborted) deliver(all());
      });
    };
    Promise.all([informer.whenSynced(signal), ready?.()]).then(
      () => {
        const listener = informer.listen(changed);
        onAbort(signal, () => listener[Symbol.dispose]());
        changed();
      },
      (error: unknown) => {
        if (!signal.aborted) failed(error);
      },
    );
  },
});
