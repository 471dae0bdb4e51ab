import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {isNotFound} from '#src/api/status.js';
import {keyOf, keyText} from '#src/api/key.js';
import {isReservedFor, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';
import {hasBindingConditions, isBindingTimedOut, isReadyForBinding} from './binding-conditions.js';
import type {ClaimWriter} from './claim-writes.js';
import type {DeviceClaims} from './claims.js';
import type {RequestMapping} from './extended-resources.js';
import type {Allocation, Claim, Features} from './types.js';

/** The devices of a pod on one node. */
export interface NodeAllocation {
  /** The claims that get devices, with their allocations. */
  readonly granted: readonly {readonly claim: Claim; readonly allocation: Allocation}[];
  /** The claim for extended resources, which does not exist yet. */
  readonly extended:
    | {readonly claim: DeviceClaim; readonly allocation: Allocation; readonly mappings: readonly RequestMapping[]}
    | undefined;
}

export interface ReservationParts {
  readonly features: Features;
  readonly claims: DeviceClaims;
  readonly writer: ClaimWriter;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** Aborts when the scheduler is to stop; pending writes are still finished. */
  readonly signal: AbortSignal;
  readonly bindingTimeoutMs: number;
  /** Returns an identifier for a claim that has none yet. */
  newId(): string;
  countCreation(status: 'success' | 'failure'): void;
}

/** How often binding conditions are checked. */
const checkMs = 5_000;

/** Reserves the claims of a pod: `allocated` have devices already, `allocation` holds those of the others. */
export class DeviceReservation implements Reservation {
  readonly #parts: ReservationParts;
  readonly #allocated: readonly Claim[];
  readonly #granted: NodeAllocation;
  readonly #node: string;
  readonly #extendedId: string;
  /** Claims that were written, by their key. */
  readonly #reserved = new Map<string, DeviceClaim>();
  #created: DeviceClaim | undefined;

  constructor(parts: ReservationParts, allocated: readonly Claim[], granted: NodeAllocation, node: string) {
    this.#parts = parts;
    this.#allocated = allocated;
    this.#granted = granted;
    this.#node = node;
    this.#extendedId = parts.newId();
    for (const {claim, allocation} of granted.granted) parts.claims.begin(claim.metadata?.uid ?? '', allocation);
    if (granted.extended) parts.claims.begin(this.#extendedId, granted.extended.allocation);
  }

  async preBind(pod: PodInfo): Promise<void> {
    for (const claim of this.#allocated) if (!isReservedFor(claim, pod.uid)) await this.#bind(claim, pod, undefined);
    for (const {claim, allocation} of this.#granted.granted) await this.#bind(claim, pod, allocation);
    await this.#bindExtended(pod);
    if (this.#parts.features.bindingConditions) await this.#whenReady(pod);
  }

  unreserve(pod: PodInfo): void {
    const {claims} = this.#parts;
    for (const {claim} of this.#granted.granted) claims.end(claim.metadata?.uid ?? '', undefined);
    claims.end(this.#extendedId, undefined);
    void this.#release(pod);
  }

  async #bind(claim: Claim, pod: PodInfo, allocation: Allocation | undefined): Promise<DeviceClaim> {
    const {claims, features, writer} = this.#parts;
    let written: DeviceClaim | undefined;
    try {
      written = await writer.bind(claim, pod, allocation, features.bindingConditions);
      this.#reserved.set(keyText(keyOf(written)), written);
      claims.wrote(written);
      return written;
    } finally {
      if (allocation) claims.end(claim.metadata?.uid ?? '', written);
    }
  }

  async #bindExtended(pod: PodInfo): Promise<void> {
    const {extended} = this.#granted;
    if (!extended) return;
    const {claims, countCreation, writer} = this.#parts;
    let written: DeviceClaim | undefined;
    try {
      this.#created = await writer.create(extended.claim).then(
        created => {
          countCreation('success');
          return created;
        },
        (error: unknown) => {
          countCreation('failure');
          throw new Error(`create claim for extended resources ${pod.namespace}/: ${(error as Error).message}`, {cause: error});
        },
      );
      written = await this.#bind(this.#created, pod, extended.allocation);
      this.#created = written;
    } finally {
      claims.end(this.#extendedId, undefined);
    }
    await writer.recordMappings(pod, {resourceClaimName: written.metadata?.name ?? '', requestMappings: extended.mappings});
  }

  /** Waits until all conditions of the devices are true. */
  async #whenReady(pod: PodInfo): Promise<void> {
    const {clock, events, signal, bindingTimeoutMs} = this.#parts;
    const current = () =>
      [...this.#allocated, ...this.#reserved.values()].map(claim => this.#parts.claims.get(keyText(keyOf(claim))) ?? claim);
    if (!current().some(hasBindingConditions)) return;
    events.normal(pod.pod, 'BindingConditionsPending', `waiting for binding conditions for device on node ${this.#node}`);
    const end = clock.monotonic() + bindingTimeoutMs;
    for (;;) {
      let isReady = true;
      for (const claim of current()) {
        const ready = isReadyForBinding(claim);
        if (typeof ready === 'string') throw new Error(ready);
        if (ready) continue;
        if (isBindingTimedOut(claim, bindingTimeoutMs, clock.now())) throw new Error(`claim ${claim.metadata?.name} binding timeout`);
        isReady = false;
        break;
      }
      if (isReady) return;
      if (clock.monotonic() >= end) throw new Error('device binding timeout');
      await sleep(clock, checkMs, signal);
      signal.throwIfAborted();
    }
  }

  async #release(pod: PodInfo): Promise<void> {
    const {writer, log, signal} = this.#parts;
    const attempt = async (claim: Claim, undo: () => Promise<void>) => {
      try {
        await undo();
      } catch (error) {
        if (!signal.aborted && !isNotFound(error))
          log.error({pod: pod.key, claim: claim.metadata?.name, err: error}, 'the use of a claim could not be taken back');
      }
    };
    const created = this.#created;
    for (const claim of this.#reserved.values())
      if (claim.metadata?.uid !== created?.metadata?.uid) await attempt(claim, () => writer.release(claim, pod.uid));
    if (created) await attempt(created, () => writer.delete(created));
  }
}
