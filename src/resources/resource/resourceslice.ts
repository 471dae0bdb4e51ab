import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {NodeSelector} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {validateNodeSelector} from '#src/resources/validation/node-selector.js';
import {internalList} from '#src/schema/error-texts/internal-form.js';
import {dnsLabel, dnsSubdomain} from '#src/resources/validation/values.js';
import {sameFieldsVersion} from '#src/resources/versions.js';
import {set} from './collections.js';
import {validateCounters, validateDevice, type Consumption, type Device} from './device.js';
import {driverName, poolName} from './names.js';
import {basicDevices} from './older-versions.js';

interface Spec {
  driver: string;
  pool: {name: string; generation: number; resourceSliceCount: number};
  nodeName?: string;
  nodeSelector?: NodeSelector;
  allNodes?: boolean;
  perDeviceNodeSelection?: boolean;
  devices?: Device[];
  sharedCounters?: {name: string; counters: Consumption['counters']}[];
}

interface ResourceSlice extends KubeObject {
  spec: Spec;
}

const maxDevices = 128;
/** The limit of devices with taints or counters, which is lower so that a slice stays small. */
const maxDetailedDevices = 64;
const maxCounterSets = 8;

function* validatePool({pool}: Readonly<Spec>): Iterable<FieldError> {
  const {name = '', resourceSliceCount: slices = 0, generation = 0} = (pool ?? {}) as Partial<Spec['pool']>;
  yield* poolName('spec.pool.name', name);
  if (slices <= 0) yield invalid('spec.pool.resourceSliceCount', slices, 'must be greater than zero');
  if (generation < 0) yield invalid('spec.pool.generation', generation, 'must be greater than or equal to zero');
}

function* validatePlace(spec: Readonly<Spec>): Iterable<FieldError> {
  const {nodeName, nodeSelector} = spec;
  const given: string[] = [];
  if (nodeName) {
    given.push('`nodeName`');
    yield* dnsSubdomain('spec.nodeName', nodeName);
  } else if (nodeName !== undefined) yield invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string');
  if (nodeSelector) {
    given.push('`nodeSelector`');
    yield* validateNodeSelector(nodeSelector, 'spec.nodeSelector', false);
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1)
      yield invalid(
        'spec.nodeSelector.nodeSelectorTerms',
        internalList(nodeSelector, 'nodeSelectorTerms', 'NodeSelectorTerm'),
        'must have exactly one node selector term',
      );
  }
  for (const field of ['allNodes', 'perDeviceNodeSelection'] as const) {
    if (spec[field]) given.push(`\`${field}\``);
    else if (spec[field] !== undefined) yield invalid(`spec.${field}`, spec[field], 'must be either unset or set to true');
  }
  const text = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (given.length === 0) yield required('spec', text);
  else if (given.length > 1) yield invalid('spec', `{${given.join(', ')}}`, `${text}, but multiple fields are set`);
}

function* validateCounterSet({name, counters}: Readonly<NonNullable<Spec['sharedCounters']>[number]>, path: string): Iterable<FieldError> {
  if (name) yield* dnsLabel(`${path}.name`, name);
  else yield required(`${path}.name`);
  yield* validateCounters(counters, `${path}.counters`);
}

function* validate({spec}: Readonly<ResourceSlice>, old: Readonly<ResourceSlice> | undefined): Iterable<FieldError> {
  yield* driverName('spec.driver', spec.driver ?? '');
  yield* validatePool(spec);
  if (old) {
    yield* immutable('spec.pool.name', spec.pool?.name, old.spec.pool?.name);
    yield* immutable('spec.driver', spec.driver, old.spec.driver);
    yield* immutable('spec.nodeName', spec.nodeName, old.spec.nodeName);
  }
  yield* validatePlace(spec);
  const {devices, sharedCounters} = spec;
  if (sharedCounters && devices) yield invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed');
  const detailed = (devices ?? []).some(({taints = [], consumesCounters = []}) => taints.length + consumesCounters.length > 0);
  const before = new Map((old?.spec.devices ?? []).map(device => [device.name, device]));
  const validate = (device: Readonly<Device>, path: string) =>
    validateDevice(device, before.get(device.name), path, spec.perDeviceNodeSelection === true);
  yield* set('spec.devices', devices, detailed ? maxDetailedDevices : maxDevices, validate, ({name}) => name);
  yield* set('spec.sharedCounters', sharedCounters, maxCounterSets, validateCounterSet, ({name}) => name);
}

/** Fields of devices by required gates, in addition to those of the slice. */
const gated: readonly {
  readonly gates: readonly string[];
  readonly fields: readonly (keyof Device)[];
  readonly ofSlice?: readonly (keyof Spec)[];
}[] = [
  {gates: ['DRADeviceTaints'], fields: ['taints']},
  {
    gates: ['DRAPartitionableDevices'],
    fields: ['consumesCounters', 'nodeName', 'nodeSelector', 'allNodes'],
    ofSlice: ['sharedCounters', 'perDeviceNodeSelection'],
  },
  {
    gates: ['DRADeviceBindingConditions', 'DRAResourceClaimDeviceStatus'],
    fields: ['bindingConditions', 'bindingFailureConditions', 'bindsToNode'],
  },
];

const isUsed = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined);

const dropDisabledFields = (spec: Spec, old: Readonly<Spec> | undefined, gate: HookContext['gate']): void => {
  for (const {gates, fields, ofSlice = []} of gated) {
    if (gates.every(gate)) continue;
    if (
      old &&
      (ofSlice.some(field => isUsed(old[field])) || (old.devices ?? []).some(device => fields.some(field => isUsed(device[field]))))
    )
      continue;
    for (const field of ofSlice) delete spec[field];
    for (const device of spec.devices ?? []) for (const field of fields) delete device[field];
  }
  const policies = (device: Readonly<Device>): boolean =>
    Object.values(device.capacity ?? {}).some(({requestPolicy}) => requestPolicy !== undefined);
  if (gate('DRAConsumableCapacity') || old?.devices?.some(device => device.allowMultipleAllocations !== undefined || policies(device)))
    return;
  for (const device of spec.devices ?? []) {
    delete device.allowMultipleAllocations;
    for (const capacity of Object.values(device.capacity ?? {})) delete capacity.requestPolicy;
  }
};

const selectableFields = {
  'spec.nodeName': ({spec}: Readonly<ResourceSlice>) => spec?.nodeName ?? '',
  'spec.driver': ({spec}: Readonly<ResourceSlice>) => spec?.driver ?? '',
};

/** ResourceSlice: some of a driver's devices, on one node or available to many. */
export const resourceSlices = defineResource<ResourceSlice>({
  kind: kinds.resourceSlices,
  served: {
    otherVersions: [
      {...sameFieldsVersion<ResourceSlice>(kinds.resourceSlicesV1beta2), selectableFields},
      {...basicDevices<ResourceSlice>(kinds.resourceSlicesV1beta1), selectableFields},
    ],
  },
  storage: {alwaysPresent: {spec: {driver: '', pool: {name: '', generation: 0, resourceSliceCount: 0}}}},
  metadata: {nameProblems: subdomainName, generation: true, generationCountsUnprepared: true},
  default({spec}) {
    if (!spec) return;
    spec.driver ??= '';
    spec.pool ??= {name: '', generation: 0, resourceSliceCount: 0};
    spec.pool.generation ??= 0;
    for (const {capacity = {}} of spec.devices ?? []) for (const one of Object.values(capacity)) one.value ??= '0';
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec}, old, {gate, clock}) {
      dropDisabledFields(spec, old?.spec, gate);
      for (const {taints = []} of spec.devices ?? []) for (const taint of taints) taint.timeAdded ||= wireTime(clock.now());
    },
    validate,
    *warn({spec: {driver}}) {
      if (driver !== driver.toLowerCase())
        yield `spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`;
    },
  },
  deletion: {response: 'object'},
  selection: {fields: selectableFields, unknownFieldMessage: 'kind'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Node', description: 'The node that has the devices, if it is one.', of: ({spec}) => spec.nodeName ?? ''},
      {name: 'Driver', description: 'The driver of the devices.', of: ({spec}) => spec.driver},
      {name: 'Pool', description: 'The pool the devices belong to.', of: ({spec}) => spec.pool.name},
      ageColumn,
    ],
  },
});
