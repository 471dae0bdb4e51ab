// Reports the status of one pod.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ConditionState} from '#src/platlet/pod/conditions.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import {newestSandbox} from '#src/platlet/pod/sandbox.js';
import {podStatus, type PodOutcome, type StatusInputs} from '#src/platlet/pod/status.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {addressesOf} from './observation.js';
import type {WorkerParts} from './parts.js';
import type {PodResizer} from './resize-pod.js';
import type {PodRunner} from './run-pod.js';

/** Why and how a pod is to be terminated. */
export interface Termination {
  readonly outcome?: PodOutcome;
  readonly graceSeconds?: number;
  readonly disruption?: ConditionState;
  /** Whether the pod is evicted: then its containers are not kept. */
  readonly isEviction?: true;
}

/** What is known of a pod. */
export interface ReportedPod {
  readonly pod: Frozen<Pod>;
  readonly runtime: RuntimePod;
  readonly termination: Termination | undefined;
}

/** Conditions owned by others are taken from the server's version. */
const withConditionsOf = (pod: Frozen<Pod>, current: Frozen<Pod>): Frozen<Pod> => {
  const own = pod.status?.conditions ?? [];
  const types = new Set(own.map(({type}) => type));
  const others = (current.status?.conditions ?? []).filter(({type}) => !types.has(type));
  return {...pod, status: {...pod.status, conditions: [...own, ...others]}};
};

/** Builds the status of one pod and reports it. */
export class StatusReport {
  readonly #parts: WorkerParts;
  readonly #runner: Pick<PodRunner, 'waiting'>;
  readonly #resizer: Pick<PodResizer, 'statusOf'>;
  readonly #startTime: number;

  /** `startTime`: when the node first observed the pod. */
  constructor(parts: WorkerParts, runner: Pick<PodRunner, 'waiting'>, resizer: Pick<PodResizer, 'statusOf'>, startTime: number) {
    this.#parts = parts;
    this.#runner = runner;
    this.#resizer = resizer;
    this.#startTime = startTime;
  }

  /** Returns what the status of a pod depends on. */
  inputs({pod, runtime, termination}: ReportedPod, stage: StatusInputs['stage']): StatusInputs {
    const {node, handlers, clock, ports} = this.#parts;
    const {prober} = handlers;
    const sandbox = newestSandbox(runtime);
    const addresses = addressesOf(pod, runtime, node.addresses);
    const {outcome, disruption} = termination ?? {};
    return {
      runtime,
      waiting: this.#runner.waiting,
      gates: node.gates,
      runtimeName: node.runtimeName,
      isStarted: (of, instance) => prober.isStarted(pod, of, instance),
      isReady: (of, instance) => prober.isReady(pod, of, instance),
      ...this.#resizer.statusOf(pod, stage),
      ...(ports.healthOf ? {healthOf: container => ports.healthOf?.(pod, container) ?? []} : {}),
      now: clock.now(),
      startTime: this.#startTime,
      hostAddresses: node.addresses,
      podAddresses: addresses.length > 0 ? addresses : (pod.status?.podIPs ?? []).flatMap(({ip}) => ip ?? []),
      ...(node.reportsSandbox ? {hasSandbox: sandbox?.isReady === true && (addresses.length > 0 || pod.spec?.hostNetwork === true)} : {}),
      stage,
      ...(outcome ? {outcome} : {}),
      ...(disruption ? {disruption} : {}),
      isStatic: isStaticPod(node.naming, pod),
    };
  }

  /** Reports the status of a pod. */
  send(reported: ReportedPod, stage: StatusInputs['stage']): void {
    const {statuses} = this.#parts;
    const {pod} = reported;
    // The status reported last counts, even if the API server has not returned it yet.
    const known = statuses.statusOf(pod.metadata?.uid ?? '');
    const current = known ? {...pod, status: {...pod.status, ...known}} : pod;
    statuses.set(pod, podStatus(withConditionsOf(current, pod), this.inputs(reported, stage)));
  }
}
