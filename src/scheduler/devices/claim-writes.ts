import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {claimKeys, isReservedFor, type DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {claimText} from './requests.js';
import type {Allocation, Claim} from './types.js';

export interface ClaimWriterParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly naming: Naming;
}

const maxAttempts = 5;
const retryMs = 10;

/** Writes allocations and reservations of claims. */
export class ClaimWriter {
  readonly #parts: ClaimWriterParts;
  readonly #finalizer: string;

  constructor(parts: ClaimWriterParts) {
    this.#parts = parts;
    this.#finalizer = claimKeys(parts.naming).finalizer;
  }

  /**
   * Adds an allocation, if there is one, and the reservation for a pod. `stamped` records when. Returns the claim as
   * written.
   */
  bind(claim: Claim, pod: PodInfo, allocation: Allocation | undefined, stamped: boolean): Promise<DeviceClaim> {
    return this.#retried(claim, async current => {
      const text = claimText(current);
      if (current.metadata?.deletionTimestamp) throw new Error(`claim ${text} got deleted in the meantime`);
      if (allocation && current.status?.allocation) throw new Error(`claim ${text} got allocated elsewhere in the meantime`);
      const protectedClaim = allocation ? await this.#protected(current) : current;
      const granted = (allocation ?? current.status?.allocation) as Allocation | undefined;
      const at = stamped && granted && !granted.allocationTimestamp ? {allocationTimestamp: wireTime(this.#parts.clock.now())} : {};
      const before = current.status?.reservedFor ?? [];
      const own = {resource: 'pods', name: pod.pod.metadata?.name ?? '', uid: pod.uid};
      const status = {
        ...protectedClaim.status,
        ...(granted ? {allocation: {...granted, ...at}} : {}),
        reservedFor: isReservedFor(current, pod.uid) ? before : [...before, own],
      };
      return this.#updated(
        {...protectedClaim, status} as DeviceClaim,
        'status',
        `add ${allocation ? 'allocation and ' : ''}reservation to`,
      );
    });
  }

  /** Removes the reservation for a pod. */
  async release({metadata}: Claim, uid: string): Promise<void> {
    const {name = '', namespace = ''} = metadata ?? {};
    await this.#held(() =>
      this.#claims.patch(
        name,
        'strategic',
        {metadata: {uid: metadata?.uid}, status: {reservedFor: [{$patch: 'delete', uid}]}},
        {namespace, subresource: 'status'},
      ),
    );
  }

  /** Takes devices from a claim that no other pod uses. */
  async deallocate(claim: Claim): Promise<void> {
    const {allocation: _, reservedFor: __, devices: ___, ...status} = claim.status ?? {};
    await this.#held(() => this.#claims.update({...claim, status} as DeviceClaim, {subresource: 'status'}));
  }

  create(claim: DeviceClaim): Promise<DeviceClaim> {
    return this.#held(() => this.#claims.create(claim));
  }

  /** Deletes a claim that the scheduler created. */
  async delete(claim: Claim): Promise<void> {
    const {name = '', namespace = '', uid} = claim.metadata ?? {};
    try {
      await this.#retried(claim, current => {
        const finalizers = (current.metadata?.finalizers ?? []).filter(each => each !== this.#finalizer);
        return this.#updated({...current, metadata: {...current.metadata, finalizers}} as DeviceClaim, undefined, 'remove finalizer from');
      });
      await this.#held(() => this.#claims.delete(name, {namespace, ...(uid ? {preconditions: {uid}} : {})}));
    } catch (error) {
      if (!isNotFound(error) && !isNotFound((error as Error).cause)) throw error;
    }
  }

  /** Writes the claim of a pod's extended resources to the pod's status. */
  async recordMappings({pod}: PodInfo, extendedResourceClaimStatus: object): Promise<void> {
    const {name = '', namespace = '', uid} = pod.metadata ?? {};
    await this.#held(() =>
      this.#parts.client
        .resource(kinds.pods)
        .patch(name, 'strategic', {metadata: {uid}, status: {extendedResourceClaimStatus}}, {namespace, subresource: 'status'}),
    );
  }

  get #claims() {
    return this.#parts.client.resource(kinds.resourceClaims);
  }

  async #protected(claim: Claim): Promise<Claim> {
    const finalizers = claim.metadata?.finalizers ?? [];
    if (finalizers.includes(this.#finalizer)) return claim;
    const metadata = {...claim.metadata, finalizers: [...finalizers, this.#finalizer]};
    return this.#updated({...claim, metadata} as DeviceClaim, undefined, 'add finalizer to');
  }

  async #updated(claim: DeviceClaim, subresource: string | undefined, what: string): Promise<DeviceClaim> {
    try {
      return await this.#held(() => this.#claims.update(claim, subresource === undefined ? {} : {subresource}));
    } catch (cause) {
      throw new Error(`${what} claim ${claimText(claim)}: ${messageOf(cause)}`, {cause});
    }
  }

  /** Tries again with the latest claim after a conflict. */
  async #retried(claim: Claim, write: (current: Claim) => Promise<DeviceClaim>): Promise<DeviceClaim> {
    const {name = '', namespace = ''} = claim.metadata ?? {};
    let current = claim;
    for (let attempt = 1; ; attempt++) {
      try {
        return await write(current);
      } catch (error) {
        if (attempt >= maxAttempts || !isConflict((error as Error).cause)) throw error;
        await sleep(this.#parts.clock, retryMs);
        current = await this.#held(() => this.#claims.get(name, {namespace}));
      }
    }
  }

  /** Holds a virtual clock during a request. */
  async #held<T>(call: () => Promise<T>): Promise<T> {
    const hold = this.#parts.clock.hold();
    try {
      return await call();
    } finally {
      hold[Symbol.dispose]();
    }
  }
}
