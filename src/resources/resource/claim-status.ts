import {forbiddenField, invalid, required, tooLong, tooMany, type FieldError} from '#src/api/field-error.js';
import {formatIp, parseRange, unmapped} from '#src/base/ip-address.js';
import type {HookContext} from '#src/resources/definition.js';
import {validateConditions} from '#src/resources/validation/conditions.js';
import {immutableInternal, semanticallyEqual} from '#src/resources/validation/equality.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {dnsLabel, oneOf} from '#src/resources/validation/values.js';
import {validateBinding} from './binding.js';
import {identity, list, set} from './collections.js';
import {maxConfigurations, validateConfiguration, validateData, type Configuration} from './configuration.js';
import {maxRequests, requestNames, requestReference, usesCapacity, type ResourceClaim} from './claim-spec.js';
import {driverName, poolName, uid} from './names.js';

type Status = NonNullable<ResourceClaim['status']>;
type Allocation = NonNullable<Status['allocation']>;
type Device = NonNullable<Status['devices']>[number];
type Consumer = NonNullable<Status['reservedFor']>[number];
type Result = NonNullable<NonNullable<Allocation['devices']>['results']>[number];
type NetworkData = NonNullable<Device['networkData']>;

const most = {consumers: 256, results: 32, conditions: 8, addresses: 16};
const longest = {data: 10 * 1024, interfaceName: 256, hardwareAddress: 128};

/** Returns the identity of a device, or of a share of it. */
const deviceId = ({driver, pool, device, shareID}: Readonly<Pick<Result, 'driver' | 'pool' | 'device' | 'shareID'>>): string =>
  [driver, pool, device, ...(shareID ? [shareID] : [])].join('/');

const resultsOf = (status: Readonly<Status> | undefined): readonly Result[] => status?.allocation?.devices?.results ?? [];

/** Drops the status of devices that are no longer allocated. */
export const dropDeallocated = (status: Status, old: Readonly<Status> | undefined): void => {
  const kept = new Set(resultsOf(status).map(deviceId));
  const gone = new Set(
    resultsOf(old)
      .map(deviceId)
      .filter(id => !kept.has(id)),
  );
  const devices = (status.devices ?? []).filter(device => !gone.has(deviceId(device)));
  if (devices.length > 0) status.devices = devices;
  else delete status.devices;
};

/** Drops fields whose gates are off, unless the stored claim has them. */
export const dropDisabledStatusFields = (
  claim: ResourceClaim,
  old: Readonly<ResourceClaim> | undefined,
  gate: HookContext['gate'],
): void => {
  const {status} = claim;
  const before = resultsOf(old?.status);
  const results = resultsOf(status);
  const adminBefore =
    before.some(({adminAccess}) => adminAccess !== undefined) ||
    (old?.spec.devices?.requests ?? []).some(({exactly}) => exactly?.adminAccess !== undefined);
  if (!gate('DRAAdminAccess') && !adminBefore) for (const result of results) delete result.adminAccess;
  if (!gate('DRAResourceClaimDeviceStatus') && (old?.status?.devices ?? []).length === 0) delete status?.devices;
  const sharedBefore =
    (old !== undefined && usesCapacity(old.spec)) ||
    before.some(one => one.shareID !== undefined || one.consumedCapacity !== undefined) ||
    (old?.status?.devices ?? []).some(({shareID}) => shareID !== undefined);
  if (!gate('DRAConsumableCapacity') && !sharedBefore) {
    for (const result of results) {
      delete result.shareID;
      delete result.consumedCapacity;
    }
    for (const device of status?.devices ?? []) delete device.shareID;
  }
  if (
    gate('DRADeviceBindingConditions') ||
    before.some(one => one.bindingConditions !== undefined || one.bindingFailureConditions !== undefined)
  )
    return;
  for (const result of results) {
    delete result.bindingConditions;
    delete result.bindingFailureConditions;
  }
};

function* validateConsumer({resource, name, uid: id}: Readonly<Consumer>, path: string): Iterable<FieldError> {
  for (const [field, value] of Object.entries({resource, name, uid: id})) if (!value) yield required(`${path}.${field}`);
}

function* interfaceAddress(text: string, path: string): Iterable<FieldError> {
  const range = parseRange(text, true);
  if (!range) return yield invalid(path, text, 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)');
  // The prefix length of an IPv4-mapped IPv6 address includes its first 96 bits.
  const inner = range.address.mapped && range.bits > 32 ? range.bits - 96 : range.bits;
  const canonical = `${formatIp(unmapped(range.address))}/${inner}`;
  if (canonical !== text) yield invalid(path, text, `must be in canonical form (${JSON.stringify(canonical)})`);
}

function* validateNetworkData(data: Readonly<NetworkData>, path: string): Iterable<FieldError> {
  for (const field of ['interfaceName', 'hardwareAddress'] as const) {
    if (Buffer.byteLength(data[field] ?? '') > longest[field]) yield tooLong(`${path}.${field}`, longest[field]);
  }
  yield* set(`${path}.ips`, data.ips, most.addresses, interfaceAddress, identity);
}

const validateDevice = (allocated: ReadonlySet<string>) =>
  function* (device: Readonly<Device>, path: string): Iterable<FieldError> {
    yield* driverName(`${path}.driver`, device.driver ?? '');
    yield* poolName(`${path}.pool`, device.pool ?? '');
    yield* dnsLabel(`${path}.device`, device.device ?? '');
    if (device.shareID !== undefined) yield* uid(`${path}.shareID`, device.shareID);
    const id = deviceId(device);
    if (!allocated.has(id)) yield invalid(path, internalForm('DeviceID', device), 'must be an allocated device in the claim');
    const conditions = device.conditions ?? [];
    if (conditions.length > most.conditions) yield tooMany(`${path}.conditions`, conditions.length, most.conditions);
    yield* validateConditions(conditions, `${path}.conditions`);
    if (device.data !== undefined && device.data !== null) yield* validateData(`${path}.data`, device.data, longest.data);
    if (device.networkData) yield* validateNetworkData(device.networkData, `${path}.networkData`);
  };

function* validateAllocation(
  {devices, nodeSelector}: Readonly<Allocation>,
  path: string,
  names: ReadonlySet<string>,
): Iterable<FieldError> {
  const reference = requestReference(names);
  const result = function* (one: Readonly<Result>, at: string): Iterable<FieldError> {
    yield* reference(one.request ?? '', `${at}.request`);
    yield* driverName(`${at}.driver`, one.driver ?? '');
    yield* poolName(`${at}.pool`, one.pool ?? '');
    yield* dnsLabel(`${at}.device`, one.device ?? '');
    yield* validateBinding(one, at);
    if (one.shareID !== undefined) yield* uid(`${at}.shareID`, one.shareID);
  };
  yield* list(`${path}.devices.results`, devices?.results, most.results, result);
  const configuration = function* (one: Readonly<Configuration & {source?: string}>, at: string): Iterable<FieldError> {
    if (!one.source) yield required(`${at}.source`);
    else yield* oneOf(`${at}.source`, one.source, ['FromClaim', 'FromClass']);
    yield* set(`${at}.requests`, one.requests, maxRequests, reference, identity);
    yield* validateConfiguration(one, at);
  };
  // Those of the class and those of the claim.
  yield* list(`${path}.devices.config`, devices?.config as Configuration[] | undefined, 2 * maxConfigurations, configuration);
  if (nodeSelector) yield* validateNodeSelector(nodeSelector, `${path}.nodeSelector`, false);
}

/** Validates an update of a claim's status. An allocation is set or removed as a whole. */
export function* validateClaimStatus(claim: Readonly<ResourceClaim>, old: Readonly<ResourceClaim> | undefined): Iterable<FieldError> {
  const {allocation, reservedFor = [], devices} = claim.status ?? {};
  yield* set('status.reservedFor', reservedFor, most.consumers, validateConsumer, one => one.uid);
  yield* set('status.devices', devices, Number.POSITIVE_INFINITY, validateDevice(new Set(resultsOf(claim.status).map(deviceId))), deviceId);
  if (reservedFor.length > 0) {
    const added = reservedFor.some(one => !(old?.status?.reservedFor ?? []).some(before => semanticallyEqual(one, before)));
    if (!allocation) yield forbiddenField('status.reservedFor', 'may not be specified when `allocated` is not set');
    else if (claim.metadata?.deletionTimestamp && added) {
      yield forbiddenField(
        'status.reservedFor',
        'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set',
      );
    }
  }
  if (!allocation) return;
  if (old?.status?.allocation) yield* immutableInternal('status.allocation', 'AllocationResult', allocation, old.status.allocation);
  else yield* validateAllocation(allocation, 'status.allocation', requestNames(claim.spec));
}
