// The third stage of an agent: the directory of its pods, before any worker exists.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import {apiSource} from '#src/platlet/sources/api-source.js';
import {mirrorOf} from '#src/platlet/sources/mirror-pods.js';
import {PodSources} from '#src/platlet/sources/pod-sources.js';
import type {PodSource} from '#src/platlet/sources/source.js';
import {StatusManager} from '#src/platlet/status/status-manager.js';
import {LifecycleEvents} from '#src/platlet/worker/lifecycle-events.js';
import {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {WorkingPods} from '#src/platlet/worker/working-pods.js';
import type {PodApi} from './cluster.js';
import type {AgentParts} from './parts.js';

/** The sources of a node's pods. */
export interface PodOrigins {
  /** The API server; absent for an agent that runs static pods only. */
  readonly api: PodApi | undefined;
  /** Files and URLs of static pods. */
  readonly files: readonly PodSource[];
}

/** Creates the directory of a node's pods. It is empty until `runPods` starts the sources. */
export const podDirectory = (
  {naming, gate, clock, log, runtime, metrics}: Pick<AgentParts, 'naming' | 'gate' | 'clock' | 'log' | 'runtime' | 'metrics'>,
  {api, files}: PodOrigins,
  signal: AbortSignal,
): PodDirectory => {
  const failed = (error: unknown): void => log.error({err: error}, 'failed to list the pods of the node');
  const ofApi = api && apiSource({naming, informer: api.pods, ready: api.ready, signal, failed});
  const sources = new PodSources({naming, clock, sources: [...(ofApi ? [ofApi] : []), ...files]});
  const statuses = new StatusManager({
    naming,
    clock,
    log,
    signal,
    metrics,
    client: api?.client,
    shownBy(pod) {
      if (!api) return undefined;
      if (!isStaticPod(naming, pod)) return sameIn(api, pod);
      // The mirror pod of a replaced static pod no longer belongs to it.
      return sources.isKnown(pod.metadata?.uid ?? '') ? mirrorOf(naming, api.pods.lister.list(), pod) : undefined;
    },
  });
  const events = new LifecycleEvents({clock, log, runtime, isEvented: gate('EventedPLEG'), signal, metrics});
  return new PodDirectory({sources, statuses, runtime: events, working: new WorkingPods()});
};

const sameIn = ({pods: {lister}}: PodApi, pod: Frozen<Pod>): Frozen<Pod> | undefined => {
  const found = lister.get(keyText(keyOf(pod)));
  return found?.metadata?.uid === pod.metadata?.uid ? found : undefined;
};
