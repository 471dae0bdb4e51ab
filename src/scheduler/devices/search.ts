// The search for devices: claims, their requests and the devices of each request are tried in order, and taken back
// where a later one finds none. The first solution is taken (KEP-4381).

import type {Frozen} from '#src/api/key.js';
import {addQuantities, type Quantity} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import {deviceIdText, toleratesTaint, type DeviceTaint} from '#src/model/devices/taints.js';
import {consumption, type Amounts} from './capacity.js';
import {constraintsOf, type ConstraintState, type RequestNames} from './constraints.js';
import {PoolCounters} from './counters.js';
import {isReachable, type Pool} from './pools.js';
import {candidatesOf, claimText, type RequestContext, type RequestData, type RequestOptions} from './requests.js';
import type {DeviceSelectors} from './selectors.js';
import {AllocationError, maxResults, type Candidate, type Claim, type DeviceClass, type ExactRequest, type Features} from './types.js';

/** The devices that claims have already. */
export interface DevicesInUse {
  /** Whether a device is allocated to one claim alone. */
  isTaken(id: string): boolean;
  /** Returns what claims consume of the capacity of a device that they share; undefined if none does. */
  consumed(id: string): Amounts | undefined;
}

export interface SearchParts {
  readonly features: Features;
  readonly selectors: DeviceSelectors;
  readonly inUse: DevicesInUse;
  /** The group of device classes on the wire. */
  readonly group: string;
  classOf(name: string): DeviceClass | undefined;
  /** Returns the taints of a device, of its slice and of rules. */
  taintsOf(candidate: Candidate): readonly DeviceTaint[];
}

/** A device that is chosen for a request. */
export interface Choice {
  readonly data: RequestData;
  readonly candidate: Candidate;
  /** What the claim consumes of a device that it shares. */
  readonly consumed: Amounts | undefined;
}

/** `full`: a claim would get more devices than it may have, whichever devices are chosen. */
type Outcome = 'done' | 'none' | 'full';

const blocking: ReadonlySet<string> = new Set(['NoSchedule', 'NoExecute']);

export class DeviceSearch {
  /** The chosen devices of each claim. */
  readonly choices: Choice[][];
  /** The requests of each claim, of prioritized lists with the alternative that was chosen. */
  readonly selected: RequestData[][];
  readonly #parts: SearchParts;
  readonly #node: Frozen<Node>;
  readonly #claims: readonly Claim[];
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #candidates: readonly Candidate[];
  readonly #requests: (readonly RequestOptions[])[] = [];
  readonly #constraints: (readonly ConstraintState[])[] = [];
  readonly #matches = new Map<string, boolean>();
  /** The claims for which a device is chosen, by device. */
  readonly #taking = new Map<string, Set<number>>();
  readonly #consuming = new Map<string, Map<string, Quantity>>();
  readonly #counters = new Map<string, PoolCounters>();
  readonly context: RequestContext;

  constructor(parts: SearchParts, node: Frozen<Node>, claims: readonly Claim[], pools: readonly Pool[]) {
    this.#parts = parts;
    this.#node = node;
    this.#claims = claims;
    this.#pools = new Map(pools.map(pool => [pool.id, pool]));
    this.#candidates = pools.flatMap(pool => [...candidatesOf(pool)]);
    this.choices = claims.map(() => []);
    this.selected = claims.map(() => []);
    const {features, classOf, group} = parts;
    this.context = {
      features,
      pools,
      group,
      classOf,
      isSelectable: (claim, data, candidate) => this.#isSelectable(claim, data, candidate),
      hasCapacity: (request, candidate) => !features.consumableCapacity || this.#consumption(request, candidate) !== undefined,
    };
  }

  /** Adds the next claim with its requests. */
  add(requests: readonly RequestOptions[]): void {
    const claim = this.#claims[this.#requests.length]!;
    this.#requests.push(requests);
    this.#constraints.push(constraintsOf(claim.spec.devices?.constraints ?? [], claimText(claim)));
  }

  /** Returns whether devices were found for all claims. */
  *run(): Steps<boolean> {
    return (yield* this.#claim(0)) === 'done';
  }

  *#claim(claim: number): Steps<Outcome> {
    return claim >= this.#claims.length ? 'done' : yield* this.#request(claim, 0);
  }

  *#request(claim: number, at: number): Steps<Outcome> {
    const request = this.#requests[claim]![at];
    if (!request) {
      // Another choice for this claim may let the next one choose a smaller alternative.
      const outcome = yield* this.#claim(claim + 1);
      return outcome === 'full' ? 'none' : outcome;
    }
    let outcome: Outcome = 'full';
    for (const data of request.options) {
      const found = yield* this.#devices(claim, at, data, 0, 0);
      if (found === 'done') {
        this.selected[claim]![at] = data;
        return 'done';
      }
      if (found === 'none') outcome = 'none';
    }
    return outcome;
  }

  /**
   * Chooses the device at `index` of a request, from the candidates at and after `from`: the order within a request
   * makes no difference.
   */
  *#devices(claim: number, at: number, data: RequestData, index: number, from: number): Steps<Outcome> {
    yield;
    if (data.all?.length === 0) return 'none';
    if (index >= data.count) return yield* this.#request(claim, at + 1);
    if (this.choices[claim]!.length + data.count - index > maxResults) return 'full';
    if (data.all) {
      const undo = this.#choose(claim, data, data.all[index]!, true);
      if (!undo) return 'none';
      const outcome = yield* this.#devices(claim, at, data, index + 1, 0);
      if (outcome !== 'done') undo();
      return outcome;
    }
    for (let next = from; next < this.#candidates.length; next++) {
      yield;
      const candidate = this.#candidates[next]!;
      const undo = (yield* this.#isUsable(claim, data, candidate)) ? this.#choose(claim, data, candidate, false) : undefined;
      if (!undo) continue;
      const outcome = yield* this.#devices(claim, at, data, index + 1, next);
      if (outcome === 'done') return outcome;
      undo();
      if (outcome === 'full') return outcome;
    }
    return 'none';
  }

  /** The cheap checks come first. */
  *#isUsable(claim: number, data: RequestData, candidate: Candidate): Steps<boolean> {
    return (
      this.#isFree(claim, data.request, candidate) &&
      (yield* this.#isSelectable(this.#claims[claim]!, data, candidate)) &&
      this.context.hasCapacity(data.request, candidate)
    );
  }

  #isFree(claim: number, {adminAccess}: ExactRequest, candidate: Candidate): boolean {
    const key = deviceIdText(candidate.id);
    const taking = this.#taking.get(key);
    if (adminAccess) return !taking?.has(claim);
    return !this.#parts.inUse.isTaken(key) && (taking?.size ?? 0) === 0;
  }

  *#isSelectable(claim: Claim, {request, class: of}: Pick<RequestData, 'request' | 'class'>, candidate: Candidate): Steps<boolean> {
    const {features, selectors} = this.#parts;
    const {device, slice} = candidate;
    if (!features.bindingConditions && (device.bindingConditions?.length ?? 0) > 0) return false;
    if (slice.spec.perDeviceNodeSelection && !isReachable(device, this.#node)) return false;
    const texts = [...(of.spec.selectors ?? []), ...(request.selectors ?? [])].map(({cel}) => cel?.expression ?? '');
    if (texts.length === 0) return true;
    const key = `${deviceIdText(candidate.id)} ${texts.join('\n')}`;
    let matches = this.#matches.get(key);
    if (matches === undefined) {
      matches =
        (yield* selectors.matches(of.spec.selectors, candidate, `class ${of.metadata?.name}`, features.consumableCapacity)) &&
        (yield* selectors.matches(request.selectors, candidate, `claim ${claimText(claim)}`, features.consumableCapacity));
      this.#matches.set(key, matches);
    }
    return matches;
  }

  #consumption(request: Pick<ExactRequest, 'capacity'>, {id, device}: Candidate): Amounts | undefined {
    const key = deviceIdText(id);
    return consumption(device, request, [this.#parts.inUse.consumed(key), this.#consuming.get(key)]);
  }

  #isTainted({request}: RequestData, candidate: Candidate): boolean {
    const {features, taintsOf} = this.#parts;
    if (!features.deviceTaints) return false;
    return taintsOf(candidate).some(
      taint => blocking.has(taint.effect) && !(request.tolerations ?? []).some(toleration => toleratesTaint(toleration, taint)),
    );
  }

  /** Chooses a device for a request, if it is free and meets the constraints. Returns how to take the choice back. */
  #choose(claim: number, data: RequestData, candidate: Candidate, must: boolean): (() => void) | undefined {
    const {features} = this.#parts;
    const {device, id} = candidate;
    const consumesCounters = (device.consumesCounters?.length ?? 0) > 0;
    if (!this.#isFree(claim, data.request, candidate)) return undefined;
    if (consumesCounters && !features.partitionableDevices) return undefined;
    if (this.#isTainted(data, candidate)) return undefined;
    const amounts = features.consumableCapacity ? this.#consumption(data.request, candidate) : undefined;
    if (features.consumableCapacity && !amounts) return undefined;
    const key = deviceIdText(id);
    const isShared = features.consumableCapacity && device.allowMultipleAllocations === true;
    // A device that is shared already has consumed its counters.
    const isFirst = !isShared || (!this.#parts.inUse.consumed(key) && !this.#consuming.has(key));
    const counters = consumesCounters && isFirst ? this.#countersOf(candidate) : undefined;
    if (counters && !counters.take(device)) return undefined;
    if (!this.#constrain(claim, data, candidate)) {
      counters?.release(device);
      if (!must) return undefined;
      const at = `claim ${claimText(this.#claims[claim]!)}, request ${data.fullName.split('/').at(-1)}`;
      throw new AllocationError(`${at}: cannot add device ${key} because a claim constraint would not be satisfied`);
    }
    const release = isShared ? this.#share(key, amounts!) : this.#take(key, claim);
    this.choices[claim]!.push({data, candidate, consumed: isShared ? amounts : undefined});
    return () => {
      this.choices[claim]!.pop();
      release();
      for (const constraint of this.#constraints[claim]!) constraint.remove(namesOf(data), candidate);
      counters?.release(device);
    };
  }

  /** Adds a device to all constraints of a claim, or to none. */
  #constrain(claim: number, data: RequestData, candidate: Candidate): boolean {
    const constraints = this.#constraints[claim]!;
    const names = namesOf(data);
    const failing = constraints.findIndex(constraint => !constraint.add(names, candidate));
    if (failing < 0) return true;
    for (const constraint of constraints.slice(0, failing)) constraint.remove(names, candidate);
    return false;
  }

  #take(key: string, claim: number): () => void {
    const claims = this.#taking.get(key) ?? new Set();
    this.#taking.set(key, claims.add(claim));
    return () => void claims.delete(claim);
  }

  #share(key: string, amounts: Amounts): () => void {
    const before = this.#consuming.get(key);
    const total = new Map(before);
    for (const [name, amount] of amounts) total.set(name, total.has(name) ? addQuantities(total.get(name)!, amount) : amount);
    this.#consuming.set(key, total);
    return () => {
      if (before) this.#consuming.set(key, before);
      else this.#consuming.delete(key);
    };
  }

  #countersOf({id: {driver, pool}}: Candidate): PoolCounters {
    const id = `${driver}/${pool}`;
    const {inUse} = this.#parts;
    let counters = this.#counters.get(id);
    if (!counters) {
      const isInUse = (device: string) => inUse.isTaken(`${id}/${device}`) || inUse.consumed(`${id}/${device}`) !== undefined;
      this.#counters.set(id, (counters = new PoolCounters(this.#pools.get(id)!, isInUse)));
    }
    return counters;
  }
}

const namesOf = ({base, fullName, isAlternative}: RequestData): RequestNames => ({
  request: base,
  alternative: isAlternative ? fullName : undefined,
});
