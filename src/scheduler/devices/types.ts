// Names for the parts of claims, classes and slices that the allocator works with.

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {DeviceId} from '#src/model/devices/taints.js';

export type Claim = Frozen<DeviceClaim>;
export type DeviceClass = Frozen<ObjectOf<typeof kinds.deviceClasses>>;
export type Slice = Frozen<ObjectOf<typeof kinds.resourceSlices>>;
export type Device = NonNullable<Slice['spec']['devices']>[number];
export type CounterSet = NonNullable<Slice['spec']['sharedCounters']>[number];

export type Allocation = NonNullable<NonNullable<DeviceClaim['status']>['allocation']>;
export type AllocatedDevice = NonNullable<NonNullable<Allocation['devices']>['results']>[number];
export type AllocationConfig = NonNullable<NonNullable<Allocation['devices']>['config']>[number];

type ClaimRequest = NonNullable<NonNullable<Claim['spec']['devices']>['requests']>[number];
export type ExactRequest = NonNullable<ClaimRequest['exactly']>;
export type Constraint = NonNullable<NonNullable<Claim['spec']['devices']>['constraints']>[number];

/** A device of a pool that can be reached from the node. */
export interface Candidate {
  readonly id: DeviceId;
  readonly device: Device;
  readonly slice: Slice;
}

/** The most devices that a claim is allocated. */
export const maxResults = 32;

/** Which of the optional features are on. */
export interface Features {
  readonly adminAccess: boolean;
  readonly prioritizedList: boolean;
  readonly partitionableDevices: boolean;
  readonly deviceTaints: boolean;
  readonly deviceTaintRules: boolean;
  readonly bindingConditions: boolean;
  readonly consumableCapacity: boolean;
  readonly extendedResource: boolean;
  readonly filterTimeout: boolean;
}

/** Returns the features by the gates. */
export const featuresOf = (gate: (name: string) => boolean): Features => ({
  adminAccess: gate('DRAAdminAccess'),
  prioritizedList: gate('DRAPrioritizedList'),
  partitionableDevices: gate('DRAPartitionableDevices'),
  deviceTaints: gate('DRADeviceTaints'),
  deviceTaintRules: gate('DRADeviceTaints') && gate('DRADeviceTaintRules'),
  bindingConditions: gate('DRADeviceBindingConditions') && gate('DRAResourceClaimDeviceStatus'),
  consumableCapacity: gate('DRAConsumableCapacity'),
  extendedResource: gate('DRAExtendedResource'),
  filterTimeout: gate('DRASchedulerFilterTimeout'),
});

/** Something is wrong with a claim or a class: scheduling of the pod ends with an error. */
export class AllocationError extends Error {
  override readonly name = 'AllocationError';
}
