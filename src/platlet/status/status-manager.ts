// Writes the pod statuses of a node to the API server.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {runEvery, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {isMirrorPod} from '#src/platlet/pod/origin.js';
import {isTerminalPhase} from '#src/platlet/pod/phase.js';
import type {PodStatuses} from '#src/platlet/pod/ports.js';
import {illegalTransition, statusPatch} from '#src/platlet/pod/status-patch.js';
import type {OwnStatus} from '#src/platlet/pod/status.js';

const fullPassMs = 10_000;
const conflictRetries = 5;

export interface StatusManagerParts {
  /** Undefined without an API server: then statuses are only cached. */
  readonly client: Client | undefined;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly metrics: Pick<AgentMetrics, 'statusSync'>;
  /**
   * Returns the pod in the API that shows a status: the pod itself, or the mirror pod of a static pod. Undefined if
   * there is none.
   */
  shownBy(pod: Frozen<Pod>): Frozen<Pod> | undefined;
}

interface Entry {
  pod: Frozen<Pod>;
  status: OwnStatus;
  /** The version of the status, and the version written last. */
  version: number;
  written: number;
  /** The monotonic time of the first unwritten status. */
  changedAt: number | undefined;
  isFinished: boolean;
  /** Whether the object was deleted finally: it may remain with finalizers. */
  isDeleted: boolean;
  isBusy: boolean;
  /** The newest response of the server. */
  stored?: Frozen<Pod>;
}

/** Returns the newest version of a pod among cache and response. */
const newest = (cached: Frozen<Pod>, stored: Frozen<Pod> | undefined): Frozen<Pod> =>
  stored?.metadata?.uid === cached.metadata?.uid && Number(stored?.metadata?.resourceVersion) > Number(cached.metadata?.resourceVersion)
    ? stored!
    : cached;

/** Caches the statuses of pods, and writes the changed ones. */
export class StatusManager implements PodStatuses {
  readonly #parts: StatusManagerParts;
  readonly #entries = new Map<string, Entry>();

  constructor(parts: StatusManagerParts) {
    this.#parts = parts;
    runEvery(parts.clock, fullPassMs, parts.signal, () => this.writeAll());
  }

  statusOf(uid: string): OwnStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  set(pod: Frozen<Pod>, status: OwnStatus): void {
    const uid = pod.metadata?.uid ?? '';
    const entry = this.#entries.get(uid);
    const now = this.#parts.clock.monotonic();
    const reference = entry ? {...pod, status: entry.status as NonNullable<Pod['status']>} : pod;
    const illegal = illegalTransition(reference, status);
    if (illegal !== undefined) {
      this.#parts.log.error(
        {pod: pod.metadata?.name, container: illegal},
        'status update on pod aborted: a terminated container attempted illegal transition to non-terminated state',
      );
      return;
    }
    if (!entry)
      this.#entries.set(uid, {pod, status, version: 1, written: 0, changedAt: now, isFinished: false, isDeleted: false, isBusy: false});
    else Object.assign(entry, {pod, status, version: entry.version + 1, changedAt: entry.changedAt ?? now});
    this.#write(uid);
  }

  finished(pod: Frozen<Pod>): void {
    const entry = this.#entries.get(pod.metadata?.uid ?? '');
    if (!entry) return;
    Object.assign(entry, {pod, isFinished: true, version: entry.version + 1});
    this.#write(pod.metadata?.uid ?? '');
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  /** Forgets the statuses of removed pods. */
  sweep(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#entries.keys()) if (!isKnown(uid)) this.#entries.delete(uid);
  }

  /** Writes all statuses that the server does not have. */
  writeAll(): void {
    for (const uid of this.#entries.keys()) this.#write(uid);
  }

  #write(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry || entry.isBusy || this.#parts.signal.aborted) return;
    entry.isBusy = true;
    const {clock, log} = this.#parts;
    withClockHeld(clock, async () => {
      try {
        do {
          const {version} = entry;
          await this.#writeOne(uid, entry);
          entry.written = version;
        } while (entry.version !== entry.written && this.#entries.get(uid) === entry && !this.#parts.signal.aborted);
      } finally {
        entry.isBusy = false;
      }
    }).catch((error: unknown) => {
      if (!this.#parts.signal.aborted) log.warn({pod: entry.pod.metadata?.name, err: error}, 'failed to update status for pod');
    });
  }

  async #writeOne(uid: string, entry: Entry): Promise<void> {
    const pods = this.#parts.client?.resource(kinds.pods);
    if (!pods) return;
    for (let attempt = 0; attempt < conflictRetries; attempt++) {
      const cached = this.#parts.shownBy(entry.pod);
      if (!cached) return;
      try {
        return await this.#patch(pods, entry, newest(cached, entry.stored));
      } catch (error) {
        if (isNotFound(error)) {
          // The object is deleted: so is its status, unless it is the mirror of an existing static pod.
          if (cached.metadata?.uid === uid) this.#entries.delete(uid);
          return;
        }
        if (!isConflict(error)) throw error;
        delete entry.stored;
        const {name = '', namespace = ''} = cached.metadata ?? {};
        const current = await pods.get(name, {namespace}).catch((failure: unknown) => {
          if (isNotFound(failure)) return undefined;
          throw failure;
        });
        // Another pod has taken the name.
        if (current?.metadata?.uid !== cached.metadata?.uid) return;
        entry.stored = current!;
      }
    }
  }

  async #patch(pods: ResourceClient<Pod>, entry: Entry, target: Frozen<Pod>): Promise<void> {
    const {name = '', namespace = '', uid = ''} = target.metadata ?? {};
    const status = statusPatch(target, keepTerminal(target, entry.status));
    let current = target;
    const {changedAt} = entry;
    if (status) {
      current = entry.stored = await pods.patch(name, 'strategic', {metadata: {uid}, status}, {subresource: 'status', namespace});
      if (changedAt !== undefined) this.#parts.metrics.statusSync.observe((this.#parts.clock.monotonic() - changedAt) / 1000);
    }
    entry.changedAt = undefined;
    const {naming} = this.#parts;
    const isDeletable =
      entry.isFinished && !entry.isDeleted && (current.metadata?.deletionTimestamp ?? entry.pod.metadata?.deletionTimestamp);
    if (!isDeletable || isMirrorPod(naming, current) || !isTerminalPhase(current.status?.phase)) return;
    await pods.delete(name, {namespace, gracePeriodSeconds: 0, preconditions: {uid}});
    entry.isDeleted = true;
  }
}

/** A terminal phase in the API is final. */
const keepTerminal = ({status}: Frozen<Pod>, own: OwnStatus): OwnStatus =>
  isTerminalPhase(status?.phase) && own.phase !== status.phase ? ({...own, phase: status.phase} as OwnStatus) : own;
