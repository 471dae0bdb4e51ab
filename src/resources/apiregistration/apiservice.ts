import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsLabel1035Problems, dnsSubdomainProblems, pathSegmentProblems} from '#src/api/names.js';
import {wireTime} from '#src/api/time.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {each, portProblems} from '#src/resources/validation/values.js';

type ApiService = ObjectOf<typeof kinds.apiServices>;
type Spec = NonNullable<ApiService['spec']>;

const highestGroup = 20_000;
const highestVersion = 1000;

/** Validates that the name is made of version and group, so that nothing is registered twice. */
function* validateName({metadata}: Readonly<ApiService>, {version = '', group = ''}: Readonly<Spec>): Iterable<FieldError> {
  const wanted = `${version}.${group}`;
  for (const field of ['generateName', 'name'] as const) {
    const name = metadata?.[field];
    if (name && name !== wanted && pathSegmentProblems(name).length === 0)
      yield invalid(`metadata.${field}`, name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`);
  }
}

function* validateService({service, insecureSkipTLSVerify, caBundle}: Readonly<Spec>): Iterable<FieldError> {
  const path = 'spec.insecureSkipTLSVerify';
  if (!service) {
    if (caBundle)
      yield invalid('spec.caBundle', `${Buffer.byteLength(caBundle, 'base64')} bytes`, 'local APIServices may not have a caBundle');
    if (insecureSkipTLSVerify) yield invalid(path, true, 'local APIServices may not have insecureSkipTLSVerify');
    return;
  }
  const {namespace, name, port = 0} = service;
  if (!namespace) yield required('spec.service.namespace');
  if (!name) yield required('spec.service.name');
  const problems = portProblems(port);
  if (problems.length > 0) yield invalid('spec.service.port', port, `port is not valid: ${problems.join(', ')}`);
  if (insecureSkipTLSVerify && caBundle) yield invalid(path, true, 'may not be true if caBundle is present');
}

function* validate(object: Readonly<ApiService>): Iterable<FieldError> {
  const spec = object.spec ?? ({} as Spec);
  const {group = '', version = '', groupPriorityMinimum: groupPriority = 0, versionPriority = 0} = spec;
  yield* validateName(object, spec);
  if (group) yield* each('spec.group', group, dnsSubdomainProblems(group));
  else if (version !== 'v1') yield required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  yield* each('spec.version', version, dnsLabel1035Problems(version));
  if (groupPriority <= 0 || groupPriority > highestGroup)
    yield invalid('spec.groupPriorityMinimum', groupPriority, `must be positive and less than ${highestGroup}`);
  if (versionPriority <= 0 || versionPriority > highestVersion)
    yield invalid('spec.versionPriority', versionPriority, `must be positive and less than ${highestVersion}`);
  yield* validateService(spec);
}

const statuses = ['True', 'False', 'Unknown'];

function* validateStatus({status}: Readonly<ApiService>): Iterable<FieldError> {
  for (const [i, condition] of (status?.conditions ?? []).entries()) {
    if (!statuses.includes(condition.status ?? '')) yield notSupported(`status.conditions[${i}].status`, condition.status ?? '', statuses);
  }
}

/** The availability of a group version that this server serves itself. */
export const localAvailability = {status: 'True', reason: 'Local', message: 'Local APIServices are always available'} as const;

const availability = ({status}: Readonly<ApiService>): string => {
  const condition = status?.conditions?.find(({type}) => type === 'Available');
  if (!condition) return 'Unknown';
  return condition.status !== 'True' && condition.reason ? `${condition.status} (${condition.reason})` : condition.status;
};

const columns: readonly Column<ApiService>[] = [
  nameColumn,
  {
    name: 'Service',
    description: 'The reference to the service that hosts this API endpoint.',
    of: ({spec}) => (spec?.service ? `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}` : 'Local'),
  },
  {name: 'Available', description: 'Whether this service is available.', of: availability},
  ageColumn,
];

/** APIService: registers a group version that is served by this server or by one behind a service. */
export const apiServices = defineResource<ApiService>({
  kind: kinds.apiServices,
  discovery: {categories: ['api-extensions']},
  storage: {isUnderGroup: true, alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: pathSegmentName, anyFinalizers: true},
  update: {unconditional: false},
  default({spec}) {
    if (spec?.service) spec.service.port ??= 443;
  },
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare(object, old, {clock}) {
      // A local APIService is available without a check.
      if (!old && !object.spec?.service)
        object.status = {conditions: [{type: 'Available', ...localAvailability, lastTransitionTime: wireTime(clock.now())}]};
    },
    validate,
  },
  subresources: {status: {hasNoTable: true, writes: {update: ['status']}, validate: validateStatus}},
  presentation: {columns},
});
