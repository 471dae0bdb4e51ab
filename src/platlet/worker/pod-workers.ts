// Starts a worker for each admitted pod of the node, and terminates workers.

import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {parseTime} from '#src/api/time.js';
import {isPending, type Eventually} from '#src/base/eventually.js';
import {withClockHeld} from '#src/base/clock.js';
import {managerRejection} from '#src/platlet/pod/admission/managers.js';
import {preemptedOutcome, preemptedCondition} from '#src/platlet/pod/admission/preemption.js';
import {isStaticPod} from '#src/platlet/pod/origin.js';
import {rejectionOutcome, type Rejection} from '#src/platlet/pod/admission/rejection.js';
import {statusesByName} from '#src/platlet/pod/container-statuses.js';
import {isTerminalPhase} from '#src/platlet/pod/phase.js';
import {rejectedStatus} from '#src/platlet/pod/status.js';
import type {PodResizes} from '#src/platlet/resize/pod-resizes.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {recordEvent, type WorkerParts} from './parts.js';
import type {Admission} from '#src/platlet/pod/admission/admission.js';
import type {PodAdmission} from './pod-admission.js';
import type {PodDirectory} from './pod-directory.js';
import {podFrom} from './pod-of-runtime.js';
import {PodWorker} from './pod-worker.js';
import type {Termination} from './status-report.js';
import type {WorkingPods} from './working-pods.js';

/** Whether a pod was already running under an earlier agent process: then it is not admitted again. */
const hasRun = ({status}: Frozen<Pod>): boolean =>
  status?.startTime !== undefined || [...statusesByName(status).values()].some(({containerID}) => containerID);

/** Maintains a worker for each pod of the node. */
export class PodWorkers {
  readonly #parts: WorkerParts;
  readonly #admission: PodAdmission;
  /** Pods that wait for the victims of preemption to terminate, or until it is decided about them or another pod. */
  readonly #waiting = new Map<string, Frozen<Pod>>();
  /** Whether a plugin is allocating devices: pods are admitted one after the other. */
  #isAdmitting = false;
  /** Whether the pods that have waited for that are being admitted. */
  #isCatchingUp = false;
  readonly #refused = new Set<string>();
  /** The monotonic time at which pods without workers arrived. */
  readonly #seenAt = new Map<string, number>();

  readonly #directory: Pick<PodDirectory, 'working' | 'isRunning'>;

  constructor(parts: WorkerParts, admission: PodAdmission, directory: Pick<PodDirectory, 'working' | 'isRunning'>) {
    this.#parts = parts;
    this.#admission = admission;
    this.#directory = directory;
  }

  get #working(): WorkingPods {
    return this.#directory.working;
  }

  /** Whether pods wait for plugins that are allocating devices. */
  get isAdmitting(): boolean {
    return this.#isAdmitting || this.#isCatchingUp;
  }

  /** Called with new pods of the node, or newer versions of known ones. The oldest are admitted first. */
  update(pods: readonly Frozen<Pod>[]): void {
    const created = ({metadata}: Frozen<Pod>): string => metadata?.creationTimestamp ?? '';
    const sorted = [...pods].sort(
      (a, b) => Number(hasRun(b)) - Number(hasRun(a)) || (created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0),
    );
    for (const pod of sorted) this.#update(pod);
    this.#resizes.allAdmitted();
  }

  /** Called with pods of which only the statuses have changed, which others may have set. */
  refresh(pods: readonly Frozen<Pod>[]): void {
    for (const pod of pods) this.#working.get(pod.metadata?.uid ?? '')?.refresh(this.#resizes.allocatedTo(pod));
    this.#resizes.reconciled(pods);
  }

  /** Begins to try resizes that wait for room. */
  followResizes(): void {
    this.#resizes.follow({
      changed: pod => this.#working.get(pod.metadata?.uid ?? '')?.update(this.#resizes.allocatedTo(pod)),
      preempt: (victims, resource) => victims.forEach(victim => this.#preempt(victim, resource)),
    });
  }

  get #resizes(): PodResizes {
    return this.#parts.ports.resizes;
  }

  #update(pod: Frozen<Pod>): void {
    const {clock, node, telemetry} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    const worker = this.#working.get(uid);
    if (worker && !this.#working.isRemoved(uid)) {
      this.#resizes.changed(pod);
      return worker.update(this.#resizes.allocatedTo(pod));
    }
    if (!this.#seenAt.has(uid)) this.#seenAt.set(uid, clock.monotonic());
    // The same pod was added again: it starts over once the earlier worker has finished.
    if (worker && worker.stage !== 'finished') return void this.#waiting.set(uid, pod);
    if (worker) {
      telemetry.metrics.restartedPods.add({static: isStaticPod(node.naming, pod) ? 'true' : ''});
      this.#forget(worker);
    }
    if (this.#refused.has(uid)) return;
    if (this.#hasPredecessor(pod)) return void this.#waiting.set(uid, pod);
    if (isTerminalPhase(pod.status?.phase)) return this.#start(pod).terminate();
    if (hasRun(pod) || pod.metadata?.deletionTimestamp) return this.#resume(pod);
    this.#admit(pod);
  }

  /** Whether an earlier static pod with the same full name has not finished. */
  #hasPredecessor(pod: Frozen<Pod>): boolean {
    if (!isStaticPod(this.#parts.node.naming, pod)) return false;
    const key = keyText(keyOf(pod));
    for (const worker of this.#working.all) if (worker.stage !== 'finished' && keyText(keyOf(worker.pod)) === key) return true;
    return false;
  }

  /** A pod that runs already keeps running, unless the node has no longer what is allocated to it. */
  #resume(pod: Frozen<Pod>): void {
    if (this.#isAdmitting) return void this.#waiting.set(pod.metadata?.uid ?? '', pod);
    const reserved = pod.metadata?.deletionTimestamp ? undefined : this.#admission.resume(pod);
    this.#whenDecided(pod, reserved, (current, refusal) => {
      this.#waiting.delete(current.metadata?.uid ?? '');
      if (refusal) this.#refuse(current, managerRejection(refusal));
      else this.#take(current);
    });
  }

  /** Calls `decided` with a decision, and with the pod as it is then: at once, or when it is made. */
  #whenDecided<T>(pod: Frozen<Pod>, decision: Eventually<T>, decided: (pod: Frozen<Pod>, decision: T) => void): void {
    if (!isPending(decision)) return decided(pod, decision);
    const uid = pod.metadata?.uid ?? '';
    this.#waiting.set(uid, pod);
    this.#isAdmitting = true;
    const goOn = (made: T): void => {
      this.#isAdmitting = false;
      if (this.#parts.signal.aborted) return;
      this.#isCatchingUp = true;
      const current = this.#waiting.get(uid);
      if (current) decided(current, made);
      const others = [...this.#waiting.values()].filter(other => other !== current);
      for (const other of others) this.#update(other);
      this.#isCatchingUp = false;
      this.#resizes.allAdmitted();
    };
    decision.then(goOn).catch((error: unknown) => this.#parts.clock.unhandled(error));
  }

  #admit(pod: Frozen<Pod>, fresh?: Frozen<Node> | 'unknown'): void {
    if (this.#isAdmitting) return void this.#waiting.set(pod.metadata?.uid ?? '', pod);
    const decision = this.#admission.admit(this.#resizes.allocatedTo(pod), typeof fresh === 'object' ? fresh : undefined);
    this.#whenDecided(pod, decision, (current, admission) => this.#decided(current, fresh, admission));
  }

  #decided(pod: Frozen<Pod>, fresh: Frozen<Node> | 'unknown' | undefined, admission: Admission): void {
    const uid = pod.metadata?.uid ?? '';
    this.#waiting.delete(uid);
    if (fresh === undefined && admission.is === 'refused' && admission.rejection.reason === 'NodeAffinity') {
      const node = this.#admission.freshNode();
      if (node) return this.#admitLater(pod, node);
    }
    switch (admission.is) {
      case 'admitted':
        return this.#take(pod);
      case 'preempting':
        this.#waiting.set(uid, pod);
        for (const victim of admission.victims) this.#preempt(victim, admission.resource);
        return;
      case 'refused':
        this.#refuse(pod, admission.rejection);
    }
  }

  #refuse(pod: Frozen<Pod>, rejection: Rejection): void {
    const {statuses, clock, telemetry} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    const {reason, message} = rejection;
    const outcome = rejectionOutcome(rejection);
    telemetry.metrics.admissionRejections.add({reason});
    recordEvent(this.#parts, pod, ['Warning', reason, message]);
    // It was taken by an earlier agent process.
    if (this.#directory.isRunning(uid)) return this.#start(pod).terminate({outcome: {...outcome, isFailure: true}});
    this.#refused.add(uid);
    statuses.set(pod, rejectedStatus(pod, outcome, clock.now(), parseTime(pod.status?.startTime)));
    statuses.finished(pod);
  }

  /** Admits a pod after reading the Node. */
  #admitLater(pod: Frozen<Pod>, fresh: Promise<Frozen<Node>>): void {
    const uid = pod.metadata?.uid ?? '';
    this.#waiting.set(uid, pod);
    const goOn = (node: Frozen<Node> | 'unknown'): void => {
      if (this.#waiting.get(uid) !== pod || this.#parts.signal.aborted) return;
      this.#admit(pod, node);
      this.#resizes.allAdmitted();
    };
    withClockHeld(this.#parts.clock, () => fresh.then(goOn, () => goOn('unknown'))).catch((error: unknown) =>
      this.#parts.clock.unhandled(error),
    );
  }

  #preempt(victim: Frozen<Pod>, resource: string): void {
    this.#parts.telemetry.metrics.preemptions.add({preemption_signal: resource});
    recordEvent(this.#parts, victim, ['Warning', preemptedOutcome.reason, preemptedOutcome.message]);
    this.terminate(victim.metadata?.uid ?? '', {
      outcome: {...preemptedOutcome, isFailure: true},
      disruption: preemptedCondition(this.#parts.node.naming),
    });
  }

  /** Starts a pod with what is allocated to it. */
  #take(pod: Frozen<Pod>): void {
    this.#resizes.admitted(pod);
    this.#start(this.#resizes.allocatedTo(pod)).wake();
  }

  #start(pod: Frozen<Pod>): PodWorker {
    const {clock, telemetry} = this.#parts;
    const seenAt = this.#seenAt.get(pod.metadata?.uid ?? '');
    if (seenAt !== undefined) telemetry.metrics.workerStart.observe((clock.monotonic() - seenAt) / 1000);
    this.#seenAt.delete(pod.metadata?.uid ?? '');
    const worker: PodWorker = new PodWorker(this.#parts, pod, () => this.#staged(worker));
    this.#working.add(worker);
    return worker;
  }

  /** Resources or a full name may have been released. */
  #staged({stage}: PodWorker): void {
    if (stage !== 'terminated' && stage !== 'finished') return;
    // Pods that still have to wait are added again.
    const waiting = [...this.#waiting.values()];
    for (const pod of waiting) if (!this.#hasPredecessor(pod)) this.#update(pod);
    this.#resizes.retry('pods_removed');
  }

  /** Terminates a pod, for an eviction for example. */
  terminate(uid: string, termination: Termination): void {
    this.#working.get(uid)?.terminate(termination);
  }

  /** Called when a pod is gone from its source: it is terminated. */
  remove(uid: string): void {
    this.#waiting.delete(uid);
    this.#refused.delete(uid);
    this.#seenAt.delete(uid);
    const worker = this.#working.get(uid);
    if (worker) this.#working.markRemoved(uid);
    this.#resizes.remove(uid);
    if (worker?.stage === 'finished') this.#forget(worker);
    // An API object that is deleted before its pod has terminated was force deleted.
    else worker?.terminate(isStaticPod(this.#parts.node.naming, worker.pod) ? {} : {graceSeconds: 1});
  }

  /** Called with a pod that only the runtime has: it is terminated. */
  orphan(runtime: RuntimePod): void {
    if (this.#working.get(runtime.pod.uid)) return;
    this.#parts.telemetry.metrics.orphanedRuntimePods.add();
    this.#working.markRuntimeOnly(runtime.pod.uid);
    this.#start(podFrom(runtime)).terminate();
  }

  /** Called periodically: forgets the finished workers of pods without a source. */
  sweep(isKnown: (uid: string) => boolean): void {
    for (const worker of this.#working.all) {
      if (isKnown(worker.uid)) continue;
      if (worker.stage === 'finished') this.#forget(worker);
      else if (worker.stage === 'sync') this.remove(worker.uid);
    }
    for (const uid of this.#refused) if (!isKnown(uid)) this.#refused.delete(uid);
    for (const uid of this.#seenAt.keys()) if (!isKnown(uid)) this.#seenAt.delete(uid);
  }

  #forget(worker: PodWorker): void {
    worker[Symbol.dispose]();
    this.#working.forget(worker);
    this.#parts.statuses.forget(worker.uid);
  }

  wake(uid: string): void {
    this.#working.get(uid)?.wake();
  }

  /** Stops all workers. Pods keep running. */
  [Symbol.dispose](): void {
    for (const worker of this.#working.all) worker[Symbol.dispose]();
    this.#parts.handlers.prober[Symbol.dispose]();
  }
}
