import type {Log} from '#src/base/log.js';
import type {Clock} from '#src/base/clock.js';
import type {Steps} from '#src/base/steps.js';
import {isReservedFor} from '#src/model/devices/pod-claims.js';
import {deviceIdText} from '#src/model/devices/taints.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';
import {unresolvable, type PreparedFilter, type Rejection} from '#src/scheduler/framework/plugin.js';
import {allocate, type AllocationResult} from '#src/scheduler/devices/allocator.js';
import {isBindingTimedOut, isReadyForBinding} from '#src/scheduler/devices/binding-conditions.js';
import type {Devices} from '#src/scheduler/devices/devices.js';
import type {NodeAllocation} from '#src/scheduler/devices/reservation.js';
import {AllocationError, type Claim} from '#src/scheduler/devices/types.js';

export interface PreparedDevicesParts {
  readonly devices: Devices;
  readonly clock: Clock;
  readonly log: Log;
  readonly filterTimeoutMs: number;
  readonly bindingTimeoutMs: number;
}

const nothing: NodeAllocation = {granted: [], extended: undefined};

/**
 * The part of the limit that each further node gets once the searches of the pod have taken the whole of it. The
 * original searches nodes in parallel; here all pods wait meanwhile.
 */
const furtherPart = 1 / 100;

const cannotAllocate = 'cannot allocate all claims';

/**
 * The claims of one pod, prepared for filtering nodes. What is found for a node is kept until the pod is bound or tried
 * again.
 */
export class PreparedDevices implements PreparedFilter {
  readonly #parts: PreparedDevicesParts;
  readonly #pod: PodInfo;
  readonly #allocated: readonly Claim[];
  readonly #waiting: readonly Claim[];
  readonly #resources: readonly string[];
  /** The claim for extended resources of an earlier attempt: it is deleted, and another made. */
  readonly #stale: Claim | undefined;
  readonly #found = new Map<string, NodeAllocation | string>();
  readonly #unavailable = new Set<Claim>();
  readonly #revision: number;
  /** The time that the searches of all nodes have taken, in milliseconds. */
  #spentMs = 0;

  constructor(parts: PreparedDevicesParts, pod: PodInfo, claims: readonly Claim[], resources: readonly string[]) {
    this.#parts = parts;
    this.#pod = pod;
    this.#allocated = claims.filter(({status}) => status?.allocation);
    this.#waiting = claims.filter(({status}) => !status?.allocation);
    this.#resources = resources;
    this.#stale = resources.length > 0 ? parts.devices.extended.claimOf(pod.uid) : undefined;
    this.#revision = parts.devices.claims.revision;
    parts.devices.found.set(pod, this.#found);
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#stale) return unresolvable('cannot schedule extended resource claim');
    let isAvailable = true;
    for (const claim of this.#allocated) {
      const selector = claim.status?.allocation?.nodeSelector;
      if ((!selector || matchesNodeSelector(selector, node.node!)) && this.#mayBecomeReady(claim)) continue;
      this.#unavailable.add(claim);
      isAvailable = false;
    }
    if (!isAvailable) return unresolvable('resourceclaim not available on the node');
    const found = this.#found.get(node.name);
    if (typeof found === 'string') return unresolvable(found);
    return found && !this.#isStillFree(found) ? unresolvable(cannotAllocate) : undefined;
  }

  *evaluate(node: NodeInfo): Steps<Rejection | undefined> {
    let found = this.#found.get(node.name);
    if (found === undefined) this.#found.set(node.name, (found = yield* this.#allocate(node)));
    return typeof found === 'string' ? unresolvable(found) : undefined;
  }

  reserve(node: NodeInfo): Reservation | undefined {
    const {devices, bindingTimeoutMs} = this.#parts;
    const found = this.#found.get(node.name) ?? nothing;
    if (typeof found === 'string') throw new Error('claim allocation not found for node');
    const isComplete = found.granted.length === 0 && !found.extended && this.#allocated.every(claim => isReservedFor(claim, this.#pod.uid));
    return isComplete && !devices.features.bindingConditions
      ? undefined
      : devices.reserve(this.#allocated, found, node.name, bindingTimeoutMs);
  }

  /** Takes devices from a claim that is of no use on any node. */
  release(): string {
    const {devices, clock} = this.#parts;
    const stale = this.#stale;
    const isOwn = ({status}: Claim) => (status?.reservedFor ?? []).every(({uid}) => uid === this.#pod.uid);
    const claim = stale ?? [...this.#unavailable].find(isOwn);
    if (!claim) return 'still not schedulable';
    const done = stale ? devices.writer.delete(claim) : devices.writer.deallocate(claim);
    done.catch((error: unknown) => this.#parts.log.error({pod: this.#pod.key, err: error}, 'a claim could not be deallocated'));
    void clock;
    return stale ? 'deletion of ResourceClaim completed' : 'deallocation of ResourceClaim completed';
  }

  #mayBecomeReady(claim: Claim): boolean {
    const {devices, bindingTimeoutMs, clock} = this.#parts;
    if (!devices.features.bindingConditions) return true;
    const ready = isReadyForBinding(claim);
    return ready === true || (ready === false && !isBindingTimedOut(claim, bindingTimeoutMs, clock.now()));
  }

  *#allocate(node: NodeInfo): Steps<NodeAllocation | string> {
    const {devices} = this.#parts;
    const needed = devices.extended.neededOn(node, this.#resources);
    const extended = needed.length > 0 ? devices.extended.newClaim(this.#pod.pod, needed) : undefined;
    const claims = [...this.#waiting, ...(extended ? [extended.claim] : [])];
    if (claims.length === 0) return nothing;
    const result = yield* this.#timed(allocate(claims, node.node!, devices.allocator));
    if (typeof result === 'string') return result;
    return {
      granted: this.#waiting.map((claim, index) => ({claim, allocation: result[index]!})),
      extended: extended && {...extended, allocation: result.at(-1)!},
    };
  }

  /** Ends a search that takes too long: all searches of a pod share the limit, and each has a small part of its own. */
  *#timed(work: Steps<AllocationResult>): Steps<AllocationResult> {
    const {clock, devices, filterTimeoutMs} = this.#parts;
    const isLimited = devices.features.filterTimeout && filterTimeoutMs > 0;
    const startedAt = clock.monotonic();
    const end = startedAt + Math.max(filterTimeoutMs - this.#spentMs, filterTimeoutMs * furtherPart);
    try {
      for (;;) {
        const {done, value} = work.next();
        if (done) return value;
        if (isLimited && clock.monotonic() >= end) return 'timed out trying to allocate devices';
        yield;
      }
    } catch (error) {
      if (error instanceof AllocationError) throw new AllocationError(`running "DynamicResources" filter plugin: ${error.message}`);
      throw error;
    } finally {
      this.#spentMs += clock.monotonic() - startedAt;
    }
  }

  /**
   * Whether the devices are not allocated otherwise since they were found. What devices share is checked by finding
   * them again.
   */
  #isStillFree({granted, extended}: NodeAllocation): boolean {
    const {claims} = this.#parts.devices;
    if (claims.revision === this.#revision) return true;
    const allocations = [...granted.map(({allocation}) => allocation), ...(extended ? [extended.allocation] : [])];
    return allocations.every(({devices}) =>
      (devices?.results ?? []).every(
        result => result.adminAccess || (result.shareID === undefined && !claims.isTaken(deviceIdText(result))),
      ),
    );
  }
}
