// Shared by the workers of a node's pods.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {BackoffLimits} from '#src/platlet/pod/backoff.js';
import type {ResourceStatus} from '#src/platlet/pod/container-statuses.js';
import type {GarbageLimits} from '#src/platlet/pod/garbage.js';
import type {PodPorts, PodStatuses} from '#src/platlet/pod/ports.js';
import type {RestartGates} from '#src/platlet/pod/restart.js';
import type {PodResizes} from '#src/platlet/resize/pod-resizes.js';
import type {Prober} from '#src/platlet/prober/prober.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Hooks} from './hooks.js';

/** The facts about a node that pod statuses depend on. */
export interface NodeFacts {
  readonly naming: Naming;
  readonly addresses: readonly string[];
  /** The runtime name prefixed to container ids in statuses. */
  readonly runtimeName: string;
  /** Why the pod network is not ready; undefined if it is. */
  networkError(): string | undefined;
  readonly crashLoop: BackoffLimits;
  /** The sync period of an unchanged pod, with up to 50 % jitter; a minute by default. */
  readonly resyncMs: number;
  readonly gates: RestartGates;
  /** Whether statuses have the condition PodReadyToStartContainers. */
  readonly reportsSandbox: boolean;
  /** How many ended runs of each container stay, at least the last one; negative for all. */
  readonly garbage: Pick<GarbageLimits, 'maxPerContainer'>;
}

/** Runs the handlers of containers: probes and lifecycle hooks. */
export interface Handlers {
  readonly prober: Prober;
  readonly hooks: Hooks;
}

/** Logs, events, metrics and spans of pod workers. */
export interface Telemetry {
  readonly log: Log;
  readonly events: EventRecorder;
  readonly metrics: AgentMetrics;
  /** Creates spans of syncs; absent: tracing is off. */
  readonly tracer?: Pick<Tracer, 'root'> | undefined;
}

/** The resource claims of pods. */
export interface PodClaims {
  /** Prepares the claims of a pod that is about to start. Rejects if one cannot be used, or the signal aborts. */
  prepare(pod: Frozen<Pod>, signal: AbortSignal): Promise<void>;
  /** Undoes that once the containers of the pod have exited. It is called again if it rejects. */
  unprepare(pod: Frozen<Pod>): Promise<void>;
}

/** What the workers of pods act through. */
export interface WorkerPorts extends PodPorts {
  readonly resizes: PodResizes;
  /** Absent: pods have none. */
  readonly resourceClaims?: PodClaims;
  /** Returns the health of the devices of a container; absent: it is not shown. */
  healthOf?(pod: Frozen<Pod>, container: string): readonly ResourceStatus[];
}

export interface WorkerParts {
  readonly node: NodeFacts;
  readonly ports: WorkerPorts;
  readonly handlers: Handlers;
  readonly statuses: PodStatuses;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/** Records an event about a pod or about one of its containers. */
export const recordEvent = (
  {telemetry: {events}}: Pick<WorkerParts, 'telemetry'>,
  pod: Frozen<Pod>,
  [type, reason, message]: readonly ['Normal' | 'Warning', string, string],
  fieldPath?: string,
): void => events[type === 'Normal' ? 'normal' : 'warning'](fieldPath ? {...pod, fieldPath} : pod, reason, message);
