import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, formatQuantity} from '#src/api/quantity.js';
import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {resourceName, resourceQuantity, type ResourceList} from '#src/resources/validation/resource-lists.js';
import {isHugePages} from '#src/model/resource-names.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';

type ResourceQuota = ObjectOf<typeof kinds.resourceQuotas>;
type Spec = Readonly<NonNullable<ResourceQuota['spec']>>;

const compute = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const standard: ReadonlySet<string> = new Set([
  ...compute,
  'ephemeral-storage',
  'requests.ephemeral-storage',
  'limits.ephemeral-storage',
  'requests.storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);
const ofPods: ReadonlySet<string> = new Set(['pods', ...compute]);
const ofClaims: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);

/** The scopes and the standard resources each one can restrict. */
const scopes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['Terminating', ofPods],
  ['NotTerminating', ofPods],
  ['BestEffort', new Set(['pods'])],
  ['NotBestEffort', ofPods],
  ['PriorityClass', ofPods],
  ['CrossNamespacePodAffinity', ofPods],
  ['VolumeAttributesClass', ofClaims],
]);
const onlyExists = ['BestEffort', 'NotBestEffort', 'Terminating', 'NotTerminating', 'CrossNamespacePodAffinity'];

const isStandard = (name: string): boolean => standard.has(name) || isHugePages(name.replace(/^requests\./, ''));

function* validateList(list: ResourceList | undefined, path: string, naming: Naming): Iterable<FieldError> {
  for (const [name, text] of Object.entries(list ?? {})) {
    const at = `${path}[${name}]`;
    yield* resourceName(at, name);
    if (!name.includes('/') && !isStandard(name)) yield invalid(at, name, 'must be a standard resource for quota');
    yield* resourceQuantity(at, name, text, naming);
  }
}

/** Returns the number of standard resources of the quota that a scope cannot restrict. */
const misplacedIn = ({hard = {}}: Spec): ((scope: string) => number) => {
  const names = Object.keys(hard).filter(isStandard);
  const known = new Map([...scopes].map(([scope, meant]) => [scope, names.filter(name => !meant.has(name)).length]));
  return scope => known.get(scope) ?? 0;
};

const conflicts = (given: readonly string[]): number =>
  [
    ['BestEffort', 'NotBestEffort'],
    ['Terminating', 'NotTerminating'],
  ].filter(pair => pair.every(scope => given.includes(scope))).length;

function* validateScopes(spec: Spec): Iterable<FieldError> {
  const given = spec.scopes ?? [];
  const misplaced = misplacedIn(spec);
  const wrong = (detail: string): FieldError => invalid('spec.scopes', given, detail);
  for (const scope of given) {
    if (!scopes.has(scope)) yield wrong('unsupported scope');
    for (let left = misplaced(scope); left > 0; left--) yield wrong('unsupported scope applied to resource');
  }
  for (let i = conflicts(given); i > 0; i--) yield wrong('conflicting scopes');
}

function* validateSelector(spec: Spec): Iterable<FieldError> {
  const path = 'spec.scopeSelector.matchExpressions';
  const expressions = spec.scopeSelector?.matchExpressions ?? [];
  const misplaced = misplacedIn(spec);
  for (const {scopeName, operator, values = []} of expressions) {
    if (!scopes.has(scopeName)) yield invalid(`${path}.scopeName`, scopeName, 'unsupported scope');
    for (let left = misplaced(scopeName); left > 0; left--)
      yield invalid(path, spec.scopeSelector && internalForm('ScopeSelector', spec.scopeSelector), 'unsupported scope applied to resource');
    if (onlyExists.includes(scopeName) && operator !== 'Exists') {
      yield invalid(
        `${path}.operator`,
        operator,
        "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      );
    }
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        yield required(`${path}.values`, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        yield invalid(`${path}.values`, values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector");
    } else yield invalid(`${path}.operator`, operator, 'not a valid selector operator');
  }
  for (let i = conflicts(expressions.map(({scopeName}) => scopeName)); i > 0; i--) yield invalid(path, spec.scopes, 'conflicting scopes');
}

function* validate({spec = {}}: Readonly<ResourceQuota>, old: Readonly<ResourceQuota> | undefined, naming: Naming): Iterable<FieldError> {
  yield* validateList(spec.hard, 'spec.hard', naming);
  yield* validateScopes(spec);
  yield* validateSelector(spec);
  if (!old) return;
  const set = (given: readonly string[] = []): string => JSON.stringify([...new Set(given)].sort());
  if (set(spec.scopes) !== set(old.spec?.scopes)) yield invalid('spec.scopes', spec.scopes, 'field is immutable');
}

/** Warns about requests that cannot be reached because of lower limits. */
function* warnings({spec: {hard = {}} = {}}: Readonly<ResourceQuota>, old: unknown): Iterable<string> {
  if (old) return;
  for (const resource of ['cpu', 'memory', 'storage', 'ephemeral-storage']) {
    const full = `requests.${resource}`;
    const request = hard[full] === undefined && (resource === 'cpu' || resource === 'memory') ? resource : full;
    const limit = `limits.${resource}`;
    if (
      hard[request] === undefined ||
      hard[limit] === undefined ||
      compareQuantities(quantityIn(hard[request]), quantityIn(hard[limit])) <= 0
    )
      continue;
    yield `ResourceQuota ${request} (${hard[request]}) should be less than ${limit} (${hard[limit]})`;
  }
}

/** Returns the used and hard amounts of a column's resources. */
const amounts =
  (limits: boolean) =>
  ({status}: Readonly<ResourceQuota>): string =>
    Object.entries(status?.hard ?? {})
      .filter(([name]) => name.startsWith('limits.') === limits)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, hard]) => `${name}: ${formatQuantity(quantityIn(status?.used?.[name] ?? '0'))}/${hard}`)
      .join(', ');

/** ResourceQuota: the limit of what a namespace may use in total, and its usage. */
export const resourceQuotas = defineResource<ResourceQuota>({
  kind: kinds.resourceQuotas,
  discovery: {shortNames: ['quota']},
  storage: {alwaysPresent: {spec: {}, status: {}}},
  metadata: {nameProblems: subdomainName},
  default: ({spec, status}) => roundResourceLists(spec?.hard, status?.hard, status?.used),
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    validate: (object, old, {naming}) => validate(object, old, naming),
    warn: warnings,
  },
  subresources: {
    status: {
      writes: {update: ['metadata', 'status']},
      *validate({status}, _old, {naming}) {
        yield* validateList(status?.hard, 'status.hard', naming);
        yield* validateList(status?.used, 'status.used', naming);
      },
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Request', description: 'What is asked for and counted, of how much.', of: amounts(false)},
      {name: 'Limit', description: 'What the limits add up to, of how much.', of: amounts(true)},
      ageColumn,
    ],
  },
});
