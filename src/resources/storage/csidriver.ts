import {duplicate, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type HookContext} from '#src/resources/definition.js';
import {immutable, semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {oneOf} from '#src/resources/validation/values.js';

type CSIDriver = ObjectOf<typeof kinds.csiDrivers>;
type Spec = NonNullable<CSIDriver['spec']> & {serviceAccountTokenInSecrets?: boolean};

const groupPolicies = ['File', 'None', 'ReadWriteOnceWithFSType'];
const lifecycles = ['Persistent', 'Ephemeral'];
/** Token lifetimes are at least ten minutes and at most 2^32 seconds. */
const [shortest, longest] = [600, 2 ** 32];
const leastPeriod = 10;

function* validateTokens({tokenRequests = []}: Readonly<Spec>): Iterable<FieldError> {
  const audiences = new Set<string>();
  for (const [i, {audience, expirationSeconds}] of tokenRequests.entries()) {
    const path = `spec.tokenRequests[${i}]`;
    if (audiences.has(audience)) {
      yield duplicate(`${path}.audience`, audience);
      continue;
    }
    audiences.add(audience);
    if (expirationSeconds === undefined) continue;
    if (expirationSeconds < shortest)
      yield invalid(`${path}.expirationSeconds`, expirationSeconds, 'may not specify a duration less than 10 minutes');
    if (expirationSeconds > longest)
      yield invalid(`${path}.expirationSeconds`, expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
  }
}

function* validateSpec(spec: Readonly<Spec>, gate: HookContext['gate']): Iterable<FieldError> {
  // The first name is the original's.
  for (const [path, value] of [
    ['attachedRequired', spec.attachRequired],
    ['podInfoOnMount', spec.podInfoOnMount],
    ['storageCapacity', spec.storageCapacity],
  ] as const) {
    if (value === undefined) yield required(`spec.${path}`);
  }
  if (spec.fsGroupPolicy !== undefined) yield* oneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, groupPolicies);
  yield* validateTokens(spec);
  for (const mode of spec.volumeLifecycleModes ?? [])
    if (!lifecycles.includes(mode)) yield notSupported('spec.volumeLifecycleModes', mode, lifecycles);
  if (spec.seLinuxMount === undefined && gate('SELinuxMountReadWriteOncePod')) yield required('spec.seLinuxMount');
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period < leastPeriod)
    yield invalid('spec.nodeAllocatableUpdatePeriodSeconds', period, `must be greater than or equal to ${leastPeriod} seconds`);
  if (spec.serviceAccountTokenInSecrets !== undefined && (spec.tokenRequests ?? []).length === 0) {
    yield invalid(
      'spec.serviceAccountTokenInSecrets',
      spec.serviceAccountTokenInSecrets,
      'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    );
  }
}

function* validate({spec = {}}: Readonly<CSIDriver>, old: Readonly<CSIDriver> | undefined, {gate}: HookContext): Iterable<FieldError> {
  yield* validateSpec(spec, gate);
  if (!old) return;
  const before = old.spec ?? {};
  yield* immutable('spec.attachedRequired', spec.attachRequired, before.attachRequired);
  yield* immutable('spec.volumeLifecycleModes', spec.volumeLifecycleModes, before.volumeLifecycleModes);
}

/** Warns about drivers that receive tokens where they may be logged. */
function* warnings({spec = {}}: Readonly<CSIDriver>, old: Readonly<CSIDriver> | undefined, {gate}: HookContext): Iterable<string> {
  const {tokenRequests = [], serviceAccountTokenInSecrets}: Spec = spec;
  if (!gate('CSIServiceAccountTokenSecrets') || tokenRequests.length === 0 || serviceAccountTokenInSecrets !== undefined) return;
  if (old && semanticallyEqual(tokenRequests, old.spec?.tokenRequests)) return;
  yield 'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes';
}

/** Drops fields whose gates are off, unless they are in use. */
const dropUnknown = (spec: Spec, old: Spec | undefined, gate: HookContext['gate']): void => {
  if (!gate('SELinuxMountReadWriteOncePod') && old?.seLinuxMount === undefined) delete spec.seLinuxMount;
  if (!gate('MutableCSINodeAllocatableCount') && old?.nodeAllocatableUpdatePeriodSeconds === undefined)
    delete spec.nodeAllocatableUpdatePeriodSeconds;
  if (!gate('CSIServiceAccountTokenSecrets') && old?.serviceAccountTokenInSecrets === undefined) delete spec.serviceAccountTokenInSecrets;
};

/** CSIDriver: what a CSI driver supports, and what it needs to know about pods. */
export const csiDrivers = defineResource<CSIDriver>({
  kind: kinds.csiDrivers,
  storage: {alwaysPresent: {spec: {}}},
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  default(driver, {gate}) {
    const spec: Spec = (driver.spec ??= {});
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= 'ReadWriteOnceWithFSType';
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
    spec.requiresRepublish ??= false;
    if (gate('SELinuxMountReadWriteOncePod')) spec.seLinuxMount ??= false;
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(driver, old, {gate}) {
      const spec: Spec = driver.spec!;
      dropUnknown(spec, old?.spec, gate);
      // The generation starts at zero.
      if (old && !semanticallyEqual(spec, old.spec)) driver.metadata!.generation = (old.metadata?.generation ?? 0) + 1;
    },
    validate,
    warn: warnings,
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'AttachRequired',
        type: 'boolean',
        description: 'Whether volumes are attached before they are mounted.',
        of: ({spec}) => spec?.attachRequired ?? true,
      },
      {
        name: 'PodInfoOnMount',
        type: 'boolean',
        description: 'Whether pod information is passed to the driver.',
        of: ({spec}) => spec?.podInfoOnMount ?? false,
      },
      {
        name: 'StorageCapacity',
        type: 'boolean',
        description: 'Whether the driver reports storage capacity.',
        of: ({spec}) => spec?.storageCapacity ?? false,
      },
      {
        name: 'TokenRequests',
        description: 'Whom the tokens of pods are made for.',
        of: ({spec}) => spec?.tokenRequests?.map(({audience}) => audience).join(',') ?? '<unset>',
      },
      {
        name: 'RequiresRepublish',
        type: 'boolean',
        description: 'Whether mounts are renewed again and again.',
        of: ({spec}) => spec?.requiresRepublish ?? false,
      },
      {
        name: 'Modes',
        description: 'The lives of volumes the driver supports.',
        of: ({spec}) => (spec?.volumeLifecycleModes ?? []).join(',') || '<none>',
      },
      ageColumn,
    ],
  },
});
