// What the workers of a node's pods share.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {BackoffLimits} from '#src/platlet/pod/backoff.js';
import type {ContainerOutput, Images, PodCgroups, PodConfigs, PodStatuses, PodVolumes} from '#src/platlet/pod/ports.js';
import type {RestartGates} from '#src/platlet/pod/restart.js';
import type {Prober} from '#src/platlet/prober/prober.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Hooks} from './hooks.js';

/** What the node is for its pods. */
export interface NodeFacts {
  readonly addresses: readonly string[];
  /** The name of the runtime, which ids begin with in statuses. */
  readonly runtimeName: string;
  /** Why the network of pods is not ready; undefined if it is. */
  networkError(): string | undefined;
  readonly crashLoop: BackoffLimits;
  /** How often a pod without changes is looked at, up to half longer; by default a minute. */
  readonly resyncMs: number;
  readonly gates: RestartGates;
}

export interface WorkerParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly runtime: Runtime;
  readonly images: Images;
  readonly volumes: PodVolumes;
  readonly cgroups: PodCgroups;
  readonly configs: PodConfigs;
  readonly output: ContainerOutput;
  readonly prober: Prober;
  readonly hooks: Hooks;
  readonly statuses: PodStatuses;
  readonly events: EventRecorder;
  readonly node: NodeFacts;
  readonly metrics: AgentMetrics;
  /** Creates spans of syncs; absent: none. */
  readonly tracer?: Pick<Tracer, 'root'> | undefined;
  readonly signal: AbortSignal;
}

/** Records an event about a pod, or about one of its containers. */
export const recordEvent = (
  {events}: Pick<WorkerParts, 'events'>,
  pod: Frozen<Pod>,
  [type, reason, message]: readonly ['Normal' | 'Warning', string, string],
  fieldPath?: string,
): void => events[type === 'Normal' ? 'normal' : 'warning'](fieldPath ? {...pod, fieldPath} : pod, reason, message);
