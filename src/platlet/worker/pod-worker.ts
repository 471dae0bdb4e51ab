// The worker of one pod: one step at a time, from its first sync until nothing is left of it.
//
//     sync ─deleted, evicted, over─> terminating ─all stopped─> terminated ─volumes and cgroup gone─> finished

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import {firstOf} from '#src/base/signals.js';
import {spanEvent} from '#src/base/span.js';
import {parseTime} from '#src/api/time.js';
import {PodRejected, rejectionOutcome} from '#src/platlet/pod/admission/rejection.js';
import {containerStatuses} from '#src/platlet/pod/container-statuses.js';
import {activeDeadline, deadlineExceeded} from '#src/platlet/pod/deadline.js';
import {hasRunning} from '#src/platlet/pod/instances.js';
import {terminationGraceSeconds} from '#src/platlet/pod/kill.js';
import {isDone, type StatusInputs} from '#src/platlet/pod/status.js';
import {emptyRuntimePod, type RuntimePod} from '#src/platlet/runtime/state.js';
import {PodKill} from './kill-pod.js';
import {addressesOf, Observer} from './observation.js';
import {recordEvent, type WorkerParts} from './parts.js';
import {PodPreparation} from './prepare-pod.js';
import {PodResizer} from './resize-pod.js';
import {PodRunner} from './run-pod.js';
import {removeRun} from './remove-run.js';
import {StatusReport, type ReportedPod, type Termination} from './status-report.js';
import {StepLoop, type StepCause, type StepLoopParts} from './step-loop.js';

export type WorkerStage = 'sync' | 'terminating' | 'terminated' | 'finished';

/** The delay after a failed sync, with up to 50 % jitter. */
const errorMs = 10_000;
const networkMs = 1_000;
/** The polling interval for volumes and cgroup to be released. */
const releaseMs = 100;

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
  readonly #preparation: PodPreparation;
  readonly #observer: Observer;
  readonly #report: StatusReport;
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
  /** Why the next sync is run. */
  #cause: Exclude<StepCause, 'kill'> = 'create';
  readonly #loop: StepLoop;
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
    this.#preparation = new PodPreparation(parts, this.#resizer);
    this.#observer = new Observer(parts.ports, uid);
    this.#runtime = emptyRuntimePod({uid, namespace, name});
    this.#startTime = parseTime(pod.status?.startTime) ?? parts.clock.now();
    this.#report = new StatusReport(parts, this.#runner, this.#resizer, this.#startTime);
    const {clock, signal, telemetry} = parts;
    this.#loop = new StepLoop({
      clock,
      signal,
      telemetry,
      next: () => this.#next(),
      step: () => this.#attempt(),
      isOver: () => this.#stage === 'finished',
    });
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
    if (this.#termination || this.#pod.metadata?.deletionTimestamp) {
      // A start in progress is aborted, and a stop in progress may be shortened.
      this.#interrupt.abort(new Error('the pod is to end'));
      if (this.#stage === 'terminating') this.#shorten(undefined);
    }
    this.#loop.wake();
  }

  #shorten(given: number | undefined): void {
    if (!this.#termination && !this.#pod.metadata?.deletionTimestamp) return;
    this.#graceSeconds = terminationGraceSeconds(this.#pod, given, this.#graceSeconds);
    this.#kill?.shorten(this.#graceSeconds);
  }

  /** Stops the worker; the pod keeps running. */
  [Symbol.dispose](): void {
    this.#loop[Symbol.dispose]();
  }

  #next(): ReturnType<StepLoopParts['next']> {
    const cause = this.#stage === 'sync' ? this.#cause : 'kill';
    this.#cause = 'sync';
    return {pod: this.#pod, span: spanNames[this.#stage], cause};
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
      if (error instanceof PodRejected) {
        this.#termination ??= {outcome: {...rejectionOutcome(error.rejection), isFailure: true}};
        return this.#enter('terminating');
      }
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
    this.#loop.again();
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

  get #known(): ReportedPod {
    return {pod: this.#pod, runtime: this.#runtime, termination: this.#termination};
  }

  #send(stage: StatusInputs['stage']): void {
    this.#report.send(this.#known, stage);
  }

  async #sync(): Promise<number> {
    const {clock, node, signal} = this.#parts;
    const {resizes} = this.#parts.ports;
    const pod = this.#pod;
    this.#hasProbes = true;
    await this.#look();
    const deadline = activeDeadline(pod, this.#startTime);
    if (clock.now() >= deadline && !this.#termination) {
      recordEvent(this.#parts, pod, ['Normal', deadlineExceeded.reason, deadlineExceeded.message]);
      this.#termination = {outcome: {...deadlineExceeded, isFailure: true}};
    }
    if (
      this.#termination ||
      pod.metadata?.deletionTimestamp ||
      isDone(pod, containerStatuses(pod, this.#report.inputs(this.#known, 'running')))
    )
      return this.#enter('terminating');
    await resizes.saved();
    await this.#resizer.observe(pod, this.#runtime);
    this.#send('running');
    const network = pod.spec?.hostNetwork ? undefined : node.networkError();
    if (network !== undefined) {
      recordEvent(this.#parts, pod, ['Warning', 'NetworkNotReady', `network is not ready: ${network}`]);
      throw new NetworkNotReady(`network is not ready: ${network}`);
    }
    using linked = firstOf(signal, this.#interrupt.signal);
    const parent = await this.#preparation.run(pod, this.#runtime, linked.signal);
    if (parent === undefined) {
      this.#loop.again();
      return 0;
    }
    const {hasActed, hasFailed, waitsOtherwise, retryAt = Infinity} = await this.#runner.run(pod, this.#runtime, parent, linked.signal);
    // Failed operations are not retried at once, but the current state is reported.
    if (hasActed && !hasFailed) this.#loop.again();
    else if (hasActed || waitsOtherwise) {
      await this.#look();
      this.#send('running');
    }
    return Math.min(this.#jittered(hasFailed ? errorMs : node.resyncMs), Math.max(0, Math.min(deadline, retryAt) - clock.now()));
  }

  async #terminate(): Promise<number> {
    const {node, handlers} = this.#parts;
    const {prober} = handlers;
    prober.stopRestarting(this.uid);
    await this.#look();
    this.#send('ending');
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
    this.#send('finished');
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
