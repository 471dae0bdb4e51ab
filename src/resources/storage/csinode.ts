import {duplicate, invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {nonnegative, qualifiedName} from '#src/resources/validation/values.js';
import {csiDriverName} from '#src/resources/validation/volume-sources.js';

type CSINode = ObjectOf<typeof kinds.csiNodes>;
type Driver = NonNullable<CSINode['spec']>['drivers'][number];

const longestId = 256;

function* validateDriver({name, nodeID, allocatable, topologyKeys = []}: Readonly<Driver>, path: string): Iterable<FieldError> {
  yield* csiDriverName(`${path}.name`, name ?? '');
  if (!nodeID) yield required(`${path}.nodeID`);
  else if (Buffer.byteLength(nodeID) > longestId) yield invalid(`${path}.nodeID`, nodeID, `must be ${longestId} characters or less`);
  yield* nonnegative(`${path}.allocatable.count`, allocatable?.count);
  for (const [i, key] of (topologyKeys ?? []).entries()) {
    if (!key) yield required(path);
    if (topologyKeys.indexOf(key) < i) yield duplicate(path, key);
    yield* qualifiedName(path, key);
  }
}

function* validateDrivers(drivers: readonly Driver[]): Iterable<FieldError> {
  for (const [i, driver] of drivers.entries()) {
    yield* validateDriver(driver, `spec.drivers[${i}]`);
    if (drivers.findIndex(({name}) => name === driver.name) < i) yield duplicate(`spec.drivers[${i}].name`, driver.name);
  }
}

function* validate({spec}: Readonly<CSINode>, old: Readonly<CSINode> | undefined, {gate}: HookContext): Iterable<FieldError> {
  const drivers = spec?.drivers ?? [];
  yield* validateDrivers(drivers);
  if (!old) return;
  // The original validates an update twice.
  yield* validateDrivers(drivers);
  const kept = ({allocatable, ...rest}: Driver): object =>
    gate('MutableCSINodeAllocatableCount') || !allocatable ? rest : {...rest, allocatable};
  for (const before of old.spec?.drivers ?? []) {
    for (const driver of drivers)
      if (driver.name === before.name) yield* immutableInternal('spec.drivers', 'CSINodeDriver', kept(driver), kept(before));
  }
}

/** CSINode: the CSI drivers of a node, with the volume limit of each. */
export const csiNodes = defineResource<CSINode>({
  kind: kinds.csiNodes,
  storage: {alwaysPresent: {spec: {drivers: null}}},
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  default(node) {
    // Missing drivers are shown as null.
    (node.spec ??= {drivers: null as never}).drivers ??= null as never;
  },
  main: {metadata: 'twice', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Drivers', type: 'integer', description: 'How many drivers the node has.', of: ({spec}) => spec?.drivers?.length ?? 0},
      ageColumn,
    ],
  },
});
