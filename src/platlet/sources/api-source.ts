import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {onAbort} from '#src/base/signals.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';
import type {PodSource} from './source.js';

export interface ApiSourceParts {
  readonly naming: Naming;
  /** The pods that are bound to the node. */
  readonly informer: Pick<SharedInformer<Pod>, 'lister' | 'listen' | 'whenSynced'>;
  /** Resolves when pods may be delivered; at once if absent. Called at the start. */
  readonly ready?: (() => Promise<unknown>) | undefined;
  readonly signal: AbortSignal;
  /** Called with an error while the pods cannot be listed at all. */
  failed(error: unknown): void;
}

/** The pods that are bound to the node. Mirror pods are images of others, which are not acted on. */
export const apiSource = ({naming, informer, ready, signal, failed}: ApiSourceParts): PodSource => ({
  name: 'api',
  start(deliver) {
    let isQueued = false;
    const all = (): Frozen<Pod>[] => informer.lister.list().filter(pod => !isMirrorPod(naming, pod));
    const changed = (): void => {
      if (isQueued) return;
      isQueued = true;
      // Changes of one moment are delivered together.
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
