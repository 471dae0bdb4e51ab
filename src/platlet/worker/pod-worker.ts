// The worker of one pod: one step at a time, from its first sync until nothing is left of it.
//
//     sync ─deleted, evicted, over─> terminating ─all stopped─> terminated ─volumes and cgroup gone─> finished

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {inNewSpan, spanEvent} from '#src/base/span.js';
import {firstOf} from '#src/base/signals.js';
import {parseTime} from '#src/api/time.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import {containerStatuses} from '#src/platlet/pod/container-statuses.js';
import type {ConditionState} from '#src/platlet/pod/conditions.js';
import {activeDeadline, deadlineExceeded} from '#src/platlet/pod/deadline.js';
import {hasRunning} from '#src/platlet/pod/instances.js';
import {podGraceSeconds, terminationGraceSeconds} from '#src/platlet/pod/kill.js';
import {newestSandbox} from '#src/platlet/pod/sandbox.js';
import {isDone, podStatus, type PodOutcome, type StatusInputs} from '#src/platlet/pod/status.js';
import {emptyRuntimePod, type RuntimePod} from '#src/platlet/runtime/state.js';
import {interruptible} from './interruptible.js';
import {PodKill} from './kill-pod.js';
import {addressesOf, Observer} from './observation.js';
import {recordEvent, type WorkerParts} from './parts.js';
import {PodResizer} from './resize-pod.js';
import {PodRunner} from './run-pod.js';
import {removeRun} from './remove-run.js';

export type WorkerStage = 'sync' | 'terminating' | 'terminated' | 'finished';

/** Why and how a pod is to be terminated. */
export interface Termination {
  readonly outcome?: PodOutcome;
  readonly graceSeconds?: number;
  readonly disruption?: ConditionState;
  /** Whether the pod is evicted: then its containers are not kept. */
  readonly isEviction?: true;
}

/** The delay after a failed sync, with up to 50 % jitter. */
const errorMs = 10_000;
const networkMs = 1_000;
/** The polling interval for volumes and cgroup to be released. */
const releaseMs = 100;
/** A step that changed something is followed by the next one at once, but after this many steps in a row by a pause. */
const maxSteps = 10;
const pauseMs = 1_000;

const spanNames: Readonly<Record<WorkerStage, string>> = {
  sync: 'syncPod',
  terminating: 'syncTerminatingPod',
  terminated: 'syncTerminatedPod',
  finished: 'syncTerminatedPod',
};

/** The sync failed for a reason that may pass soon. */
class NetworkNotReady extends Error {}

export class PodWorker {
  readonly uid: string;
  readonly #parts: WorkerParts;
  readonly #runner: PodRunner;
  readonly #resizer: PodResizer;
  readonly #observer: Observer;
  /** Called when the stage has changed. */
  readonly #staged: () => void;
  #pod: Frozen<Pod>;
  #stage: WorkerStage = 'sync';
  #termination: Termination | undefined;
  #graceSeconds: number | undefined;
  #kill: PodKill | undefined;
  #isKillOver = false;
  #runtime: RuntimePod;
  readonly #startTime: number;
  /** The cause of the next step, recorded in its span. */
  #cause: 'create' | 'update' | 'sync' = 'create';
  #isBusy = false;
  #isDirty = false;
  #timer: Disposable | undefined;
  #hasProbes = false;
  /** Aborts the current sync. */
  readonly #interrupt = new AbortController();

  constructor(parts: WorkerParts, pod: Frozen<Pod>, staged: () => void) {
    const {uid = '', namespace = '', name = ''} = pod.metadata ?? {};
    this.#parts = parts;
    this.#staged = staged;
    this.#pod = pod;
    this.uid = uid;
    this.#resizer = new PodResizer(parts, uid);
    this.#runner = new PodRunner(parts, this.#resizer);
    this.#observer = new Observer(parts.ports, uid);
    this.#runtime = emptyRuntimePod({uid, namespace, name});
    this.#startTime = parseTime(pod.status?.startTime) ?? parts.clock.now();
  }

  get pod(): Frozen<Pod> {
    return this.#pod;
  }

  get stage(): WorkerStage {
    return this.#stage;
  }

  get isEvicted(): boolean {
    return this.#termination?.isEviction === true;
  }

  /** The last observed state of the pod. */
  get runtime(): RuntimePod {
    return this.#runtime;
  }

  /** Called with a newer version of the pod. */
  update(pod: Frozen<Pod>): void {
    this.#pod = pod;
    if (this.#cause === 'sync') this.#cause = 'update';
    this.wake();
  }

  /** Called when only the status of the pod has changed, possibly by others. */
  refresh(pod: Frozen<Pod>): void {
    this.#pod = pod;
    if (pod.spec?.readinessGates?.length) this.wake();
  }

  /** Terminates the pod. A later call can only shorten the grace period. */
  terminate(termination: Termination = {}): void {
    this.#termination ??= termination;
    this.#shorten(termination.graceSeconds);
    this.wake();
  }

  /** Syncs the pod again as soon as the current step is over. */
  wake(): void {
    if (this.#parts.signal.aborted) return;
    this.#isDirty = true;
    if (this.#termination || this.#pod.metadata?.deletionTimestamp) {
      // A start in progress is aborted, and a stop in progress may be shortened.
      this.#interrupt.abort(new Error('the pod is to end'));
      if (this.#stage === 'terminating') this.#shorten(undefined);
    }
    if (!this.#isBusy) this.#work().catch((error: unknown) => this.#parts.clock.unhandled(error));
  }

  #shorten(given: number | undefined): void {
    if (!this.#termination && !this.#pod.metadata?.deletionTimestamp) return;
    this.#graceSeconds = terminationGraceSeconds(this.#pod, given, this.#graceSeconds);
    this.#kill?.shorten(this.#graceSeconds);
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    this.#timer?.[Symbol.dispose]();
    let nextMs = Infinity;
    try {
      for (let steps = 0; this.#isDirty && this.#stage !== 'finished' && !this.#parts.signal.aborted; steps++) {
        this.#isDirty = false;
        nextMs = await this.#step();
        if (steps < maxSteps) continue;
        if (this.#isDirty) nextMs = Math.min(nextMs, pauseMs);
        this.#isDirty = false;
      }
    } finally {
      this.#isBusy = false;
    }
    if (nextMs < Infinity && this.#stage !== 'finished' && !this.#parts.signal.aborted)
      this.#timer = this.#parts.clock.schedule(nextMs, () => this.wake());
  }

  /** Stops the worker; the pod keeps running. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  /** Runs one step. Returns the delay of the next one in ms. */
  async #step(): Promise<number> {
    const {clock, telemetry} = this.#parts;
    const operation_type = this.#stage === 'sync' ? this.#cause : 'kill';
    this.#cause = 'sync';
    const since = clock.monotonic();
    const next = await this.#traced(operation_type);
    telemetry.metrics.workerDuration.observe((clock.monotonic() - since) / 1000, {operation_type});
    return next;
  }

  /** Runs a step in a trace of its own, if it is sampled. */
  #traced(cause: string): Promise<number> {
    const {clock, telemetry} = this.#parts;
    const {namespace = '', name = ''} = this.#pod.metadata ?? {};
    const span = telemetry.tracer?.root({
      name: spanNames[this.#stage],
      isInternal: true,
      attributes: {
        'k8s.pod.uid': this.uid,
        'k8s.pod': `${namespace}/${name}`,
        'k8s.pod.name': name,
        'k8s.pod.update_type': cause,
        'k8s.namespace.name': namespace,
      },
      startedAt: clock.monotonic(),
      traceparent: undefined,
      trustsParent: false,
    });
    return span ? inNewSpan(span, () => this.#attempt()) : this.#attempt();
  }

  async #attempt(): Promise<number> {
    try {
      switch (this.#stage) {
        case 'sync':
          return await this.#sync();
        case 'terminating':
          return await this.#terminate();
        case 'terminated':
          return await this.#release();
        case 'finished':
          return Infinity;
      }
    } catch (error) {
      if (this.#parts.signal.aborted) return Infinity;
      if (this.#stage === 'sync' && this.#interrupt.signal.aborted) return 0;
      spanEvent('error', {message: messageOf(error)});
      this.#parts.telemetry.log.warn(
        {pod: this.#pod.metadata?.name, namespace: this.#pod.metadata?.namespace, err: error},
        'error syncing pod, skipping',
      );
      return error instanceof NetworkNotReady ? networkMs : this.#jittered(errorMs);
    }
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#parts.random.float() / 2);
  }

  #enter(stage: WorkerStage): number {
    this.#stage = stage;
    this.#isDirty = true;
    this.#staged();
    return 0;
  }

  async #look(): Promise<RuntimePod> {
    const {node, handlers} = this.#parts;
    const pod = this.#pod;
    this.#runtime = await this.#observer.look(pod);
    if (!this.#hasProbes) return this.#runtime;
    const [address = ''] = addressesOf(pod, this.#runtime, node.addresses);
    handlers.prober.observe(pod, this.#runtime, address, () => this.wake());
    return this.#runtime;
  }

  #statusInputs(stage: StatusInputs['stage']): StatusInputs {
    const {node, handlers, clock, ports} = this.#parts;
    const {prober} = handlers;
    const pod = this.#pod;
    const runtime = this.#runtime;
    const sandbox = newestSandbox(runtime);
    const addresses = addressesOf(pod, runtime, node.addresses);
    const {outcome, disruption} = this.#termination ?? {};
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

  #report(stage: StatusInputs['stage']): void {
    // The status reported last counts, even if the API server has not returned it yet.
    const known = this.#parts.statuses.statusOf(this.uid);
    const pod = known ? {...this.#pod, status: {...this.#pod.status, ...known}} : this.#pod;
    this.#parts.statuses.set(this.#pod, podStatus(withConditionsOf(pod, this.#pod), this.#statusInputs(stage)));
  }

  async #sync(): Promise<number> {
    const {clock, node, signal} = this.#parts;
    const {volumes, images, resizes} = this.#parts.ports;
    const pod = this.#pod;
    this.#hasProbes = true;
    await this.#look();
    const deadline = activeDeadline(pod, this.#startTime);
    if (clock.now() >= deadline && !this.#termination) {
      recordEvent(this.#parts, pod, ['Normal', deadlineExceeded.reason, deadlineExceeded.message]);
      this.#termination = {outcome: {...deadlineExceeded, isFailure: true}};
    }
    if (this.#termination || pod.metadata?.deletionTimestamp || isDone(pod, containerStatuses(pod, this.#statusInputs('running'))))
      return this.#enter('terminating');
    await resizes.saved();
    await this.#resizer.observe(pod, this.#runtime);
    this.#report('running');
    const network = pod.spec?.hostNetwork ? undefined : node.networkError();
    if (network !== undefined) {
      recordEvent(this.#parts, pod, ['Warning', 'NetworkNotReady', `network is not ready: ${network}`]);
      throw new NetworkNotReady(`network is not ready: ${network}`);
    }
    using linked = firstOf(signal, this.#interrupt.signal);
    const parent = await this.#ensureGroup(pod, linked.signal);
    if (parent === undefined) return 0;
    await this.#mount(pod, volumes.mount(pod, linked.signal), linked.signal);
    await images.prepare?.(pod);
    const {hasActed, hasFailed, waitsOtherwise, retryAt = Infinity} = await this.#runner.run(pod, this.#runtime, parent, linked.signal);
    // Failed operations are not retried at once, but the current state is reported.
    if (hasActed && !hasFailed) this.#isDirty = true;
    else if (hasActed || waitsOtherwise) {
      await this.#look();
      this.#report('running');
    }
    return Math.min(this.#jittered(hasFailed ? errorMs : node.resyncMs), Math.max(0, Math.min(deadline, retryAt) - clock.now()));
  }

  /**
   * Returns the parent of the containers' groups. Containers that run outside of the pod's group are ended, to be
   * started again in it: then the result is undefined.
   */
  async #ensureGroup(pod: Frozen<Pod>, signal: AbortSignal): Promise<string | undefined> {
    const {cgroups} = this.#parts.ports;
    const isRunning = hasRunning(this.#runtime);
    const isLost = isRunning && !((await cgroups.exists?.(pod)) ?? true);
    if (isLost) await interruptible(new PodKill(this.#parts, pod, this.#runtime, podGraceSeconds(pod)).done, signal);
    const parent = await cgroups.ensure(pod, isRunning && !isLost);
    if (!isRunning || isLost) await this.#resizer.noteGroup(pod);
    this.#isDirty ||= isLost;
    return isLost ? undefined : parent;
  }

  async #mount(pod: Frozen<Pod>, mounted: Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await interruptible(mounted, signal);
    } catch (error) {
      if (!signal.aborted) recordEvent(this.#parts, pod, ['Warning', 'FailedMount', messageOf(error)]);
      throw error;
    }
  }

  async #terminate(): Promise<number> {
    const {node, handlers} = this.#parts;
    const {prober} = handlers;
    prober.stopRestarting(this.uid);
    await this.#look();
    this.#report('ending');
    this.#graceSeconds = terminationGraceSeconds(this.#pod, this.#termination?.graceSeconds, this.#graceSeconds);
    if (!this.#kill) {
      this.#kill = new PodKill(this.#parts, this.#pod, this.#runtime, this.#graceSeconds);
      const over = (): void => {
        this.#isKillOver = true;
        this.wake();
      };
      this.#kill.done.then(over, over);
    }
    if (!this.#isKillOver) return this.#jittered(node.resyncMs);
    const {done} = this.#kill;
    this.#kill = undefined;
    this.#isKillOver = false;
    await done;
    await this.#look();
    if (hasRunning(this.#runtime)) {
      const names = this.#runtime.containers.filter(({state}) => state === 'running').map(({name}) => name);
      throw new Error(`detected running containers after a successful KillPod, CRI violation: [${names.join(' ')}]`);
    }
    // Before the end of the pod is reported: its claims may be given to others then.
    await this.#parts.ports.resourceClaims?.unprepare(this.#pod);
    prober.remove(this.uid);
    this.#hasProbes = false;
    this.#report('finished');
    return this.#enter('terminated');
  }

  async #release(): Promise<number> {
    const {statuses} = this.#parts;
    const {volumes, cgroups} = this.#parts.ports;
    if (!(await volumes.release(this.uid)) || !(await cgroups.remove(this.uid))) return releaseMs;
    // The last run of each container is kept for its log.
    const seen = new Set<string>();
    for (const run of this.#runtime.containers) {
      if (seen.has(run.name)) await removeRun(this.#parts.ports, run);
      seen.add(run.name);
    }
    this.#parts.ports.resizes.ended(this.uid);
    statuses.finished(this.#pod);
    return this.#enter('finished');
  }
}

/** Conditions owned by others are taken from the server's version. */
const withConditionsOf = (pod: Frozen<Pod>, current: Frozen<Pod>): Frozen<Pod> => {
  const own = pod.status?.conditions ?? [];
  const types = new Set(own.map(({type}) => type));
  const others = (current.status?.conditions ?? []).filter(({type}) => !types.has(type));
  return {...pod, status: {...pod.status, conditions: [...own, ...others]}};
};
