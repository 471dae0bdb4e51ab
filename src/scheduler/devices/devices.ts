import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {ruleSelects, type DeviceTaint} from '#src/model/devices/taints.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {AllocatorParts} from './allocator.js';
import {ClaimWriter} from './claim-writes.js';
import {DeviceClaims} from './claims.js';
import {ExtendedResources} from './extended-resources.js';
import {DeviceReservation, type NodeAllocation} from './reservation.js';
import {DeviceSelectors} from './selectors.js';
import {featuresOf, type Candidate, type Claim, type Features} from './types.js';

export interface DevicesParts {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly events: EventRecorder;
  /** Aborts when the scheduler is to stop; pending writes are still finished. */
  readonly signal: AbortSignal;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
  gate(name: string): boolean;
  /** Counts creations of claims for extended resources. */
  countCreation?(status: 'success' | 'failure'): void;
}

/** Devices: their use, allocation and reservation. */
export class Devices {
  readonly features: Features;
  readonly claims: DeviceClaims;
  readonly extended: ExtendedResources;
  readonly writer: ClaimWriter;
  readonly allocator: AllocatorParts;
  /** The allocations that were found in the current attempt to schedule a pod, by node. */
  readonly found = new WeakMap<PodInfo, ReadonlyMap<string, NodeAllocation | string>>();
  readonly #parts: DevicesParts;
  readonly #selectors = new DeviceSelectors();

  constructor(parts: DevicesParts) {
    const {lister, gate, naming, random} = parts;
    this.#parts = parts;
    this.features = featuresOf(gate);
    const claims = () => lister(kinds.resourceClaims);
    const classes = () => lister(kinds.deviceClasses);
    this.claims = new DeviceClaims(claims);
    this.extended = new ExtendedResources(naming, classes, claims);
    this.writer = new ClaimWriter(parts);
    this.allocator = {
      features: this.features,
      selectors: this.#selectors,
      inUse: this.claims,
      group: naming.group('resource'),
      random,
      slices: () => lister(kinds.resourceSlices),
      classOf: name => classes().get({namespace: '', name}),
      taintsOf: candidate => this.#taintsOf(candidate),
    };
  }

  /** Loads what a pod with claims needs; returns undefined if there is nothing to wait for. */
  load({pod, requests}: PodInfo): Promise<void> | undefined {
    const mayNeedDevices = (pod.spec?.resourceClaims?.length ?? 0) > 0 || (this.features.extendedResource && requests.scalars.size > 0);
    return mayNeedDevices ? this.#selectors.load() : undefined;
  }

  /** Reserves claims for a pod on a node. */
  reserve(allocated: readonly Claim[], granted: NodeAllocation, node: string, bindingTimeoutMs: number): DeviceReservation {
    const {random, countCreation = () => {}} = this.#parts;
    const {features, claims, writer} = this;
    const parts = {...this.#parts, features, claims, writer, bindingTimeoutMs, newId: () => random.uuid(), countCreation};
    return new DeviceReservation(parts, allocated, granted, node);
  }

  #taintsOf({id, device}: Candidate): readonly DeviceTaint[] {
    const own = device.taints ?? [];
    if (!this.features.deviceTaintRules) return own;
    const rules = this.#parts.lister(kinds.deviceTaintRules).list();
    return [...own, ...rules.filter(rule => ruleSelects(rule, id)).map(({spec}) => spec.taint)];
  }
}
