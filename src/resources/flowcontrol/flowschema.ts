import {duplicate, forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Column, type HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {mandatoryObjects, type FlowSchema} from './bootstrap.js';

type Spec = NonNullable<FlowSchema['spec']>;
type Rules = NonNullable<Spec['rules']>[number];
type Subject = Rules['subjects'][number];

const lastPrecedence = 10_000;
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

/** Each kind of subject with the field that names it. */
const subjectFields = {ServiceAccount: 'serviceAccount', User: 'user', Group: 'group'} as const;
type SubjectKind = keyof typeof subjectFields;

const isSubjectKind = (kind: string): kind is SubjectKind => Object.hasOwn(subjectFields, kind);

function* validateSubject(subject: Subject, path: string): Iterable<FieldError> {
  const {kind} = subject;
  if (!isSubjectKind(kind)) return yield notSupported(`${path}.kind`, kind ?? '', ['Group', 'ServiceAccount', 'User']);
  const field = subjectFields[kind];
  const named = subject[field];
  if (!named) yield required(`${path}.${field}`, `${field} is required when subject kind is '${kind}'`);
  else if (!named.name) yield required(`${path}.${field}.name`);
  if (kind === 'ServiceAccount' && subject.serviceAccount) yield* validateAccount(subject.serviceAccount, `${path}.serviceAccount`);
  for (const [otherKind, other] of [
    ['ServiceAccount', 'serviceAccount'],
    ['User', 'user'],
    ['Group', 'group'],
  ] as const) {
    if (otherKind !== kind && subject[other])
      yield forbiddenField(`${path}.${other}`, `${other} is forbidden when subject kind is not '${otherKind}'`);
  }
}

function* validateAccount({name, namespace}: {name: string; namespace: string}, path: string): Iterable<FieldError> {
  if (name && name !== '*') for (const problem of dnsSubdomainProblems(name)) yield invalid(`${path}.name`, name, problem);
  if (!namespace) yield required(`${path}.namespace`, 'must specify namespace for service account');
  else for (const problem of dnsLabelProblems(namespace)) yield invalid(`${path}.namespace`, namespace, problem);
}

function* validateVerbs(list: readonly string[] | undefined, path: string): Iterable<FieldError> {
  if (!list?.length) yield required(path, 'verbs must contain at least one value');
  else if (list.includes('*')) {
    if (list.length > 1) yield invalid(path, list, "if '*' is present, must not specify other verbs");
  } else if (list.some(verb => !verbs.includes(verb))) yield notSupported(path, list, verbs);
}

function* validateOthers(list: readonly string[] | undefined, path: string, missing: string, others: string): Iterable<FieldError> {
  if (!list?.length) yield required(path, missing);
  else if (list.length > 1 && list.includes('*')) yield invalid(path, list, `if '*' is present, must not specify other ${others}`);
}

function* validateResourceRule(rule: NonNullable<Rules['resourceRules']>[number], path: string): Iterable<FieldError> {
  yield* validateVerbs(rule.verbs, `${path}.verbs`);
  yield* validateOthers(rule.apiGroups, `${path}.apiGroups`, 'resource rules must supply at least one api group', 'api groups');
  yield* validateOthers(rule.resources, `${path}.resources`, 'resource rules must supply at least one resource', 'resources');
  const {namespaces = [], clusterScope} = rule;
  if (namespaces.length === 0 && !clusterScope)
    return yield required(`${path}.namespaces`, 'resource rules that are not cluster scoped must supply at least one namespace');
  if (namespaces.includes('*')) {
    if (namespaces.length > 1) yield invalid(`${path}.namespaces`, namespaces, "if '*' is present, must not specify other namespaces");
    return;
  }
  for (const [i, namespace] of namespaces.entries()) {
    for (const problem of dnsLabelProblems(namespace))
      yield invalid(`${path}.namespaces[${i}]`, namespace, `each member of this list must be '*' or a DNS-1123 label; ${problem}`);
  }
}

const urlProblem = (url: string): string | undefined => {
  if (url === '') return 'must not be empty';
  if (url === '/') return undefined;
  if (!url.startsWith('/')) return 'must start with slash';
  if (url.includes(' ')) return 'must not contain white-space';
  if (url.includes('//')) return 'must not contain double slash';
  const stars = url.split('*').length - 1;
  return stars > 1 || (stars === 1 && !url.endsWith('/*')) ? 'wildcard can only do suffix matching' : undefined;
};

function* validatePathRule(
  {verbs: list, nonResourceURLs: urls}: NonNullable<Rules['nonResourceRules']>[number],
  path: string,
): Iterable<FieldError> {
  yield* validateVerbs(list, `${path}.verbs`);
  yield* validateOthers(urls, `${path}.nonResourceURLs`, 'nonResourceURLs must contain at least one value', 'non-resource URLs');
  if (urls?.includes('*')) return;
  for (const [i, url] of (urls ?? []).entries()) {
    const problem = urlProblem(url);
    if (problem) yield invalid(`${path}.nonResourceURLs[${i}]`, url, problem);
  }
}

function* validateRules({subjects, resourceRules = [], nonResourceRules = []}: Rules, path: string): Iterable<FieldError> {
  if (!subjects?.length) yield required(`${path}.subjects`, 'subjects must contain at least one value');
  for (const [i, subject] of (subjects ?? []).entries()) yield* validateSubject(subject, `${path}.subjects[${i}]`);
  if (resourceRules.length + nonResourceRules.length === 0)
    yield required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  for (const [i, rule] of resourceRules.entries()) yield* validateResourceRule(rule, `${path}.resourceRules[${i}]`);
  for (const [i, rule] of nonResourceRules.entries()) yield* validatePathRule(rule, `${path}.nonResourceRules[${i}]`);
}

function* validateSpec(name: string, spec: Partial<Spec>): Iterable<FieldError> {
  const {matchingPrecedence: precedence = 0, distinguisherMethod: method, priorityLevelConfiguration: level} = spec;
  const at = 'spec.matchingPrecedence';
  if (precedence <= 0) yield invalid(at, precedence, 'must be a positive value');
  if (precedence > lastPrecedence) yield invalid(at, precedence, `must not be greater than ${lastPrecedence}`);
  if (precedence === 1 && name !== 'exempt') yield invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (method && method.type !== 'ByUser' && method.type !== 'ByNamespace')
    yield notSupported('spec.distinguisherMethod.type', internalForm('FlowDistinguisherMethod', method), ['ByNamespace', 'ByUser']);
  if (!level?.name) yield required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else for (const problem of dnsSubdomainProblems(level.name)) yield invalid('spec.priorityLevelConfiguration.name', level.name, problem);
  for (const [i, rules] of (spec.rules ?? []).entries()) yield* validateRules(rules, `spec.rules[${i}]`);
}

/** Validates that each condition has a unique type. */
export function* validateTypes(conditions: readonly {type?: string}[] | undefined): Iterable<FieldError> {
  const seen = new Set<string | undefined>();
  for (const [i, {type}] of (conditions ?? []).entries()) {
    if (seen.has(type)) yield duplicate(`status.conditions[${i}].type`, type ?? '');
    seen.add(type);
    if (!type) yield required(`status.conditions[${i}].type`);
  }
}

function* validate({metadata, spec, status}: Readonly<FlowSchema>, _old: unknown, {naming}: HookContext): Iterable<FieldError> {
  const name = metadata?.name ?? '';
  yield* validateSpec(name, spec ?? {});
  const fixed = mandatoryObjects(naming).schemas.find(schema => schema.metadata?.name === name);
  if (fixed && !semanticallyEqual(spec, fixed.spec))
    yield invalid('spec', internalForm('FlowSchemaSpec', spec ?? {}), `spec of '${name}' must equal the fixed value`);
  yield* validateTypes(status?.conditions);
}

/** The order in which schemas are matched; by name, as in the list, where it is the same. */
const byPrecedence = (a: Readonly<FlowSchema>, b: Readonly<FlowSchema>): number =>
  (a.spec?.matchingPrecedence ?? 0) - (b.spec?.matchingPrecedence ?? 0);

const columns: readonly Column<FlowSchema>[] = [
  nameColumn,
  {
    name: 'PriorityLevel',
    description: 'The level whose share its requests use.',
    of: ({spec}) => spec?.priorityLevelConfiguration?.name ?? '',
  },
  {
    name: 'MatchingPrecedence',
    description: 'Its place in the order in which schemas are tried.',
    of: ({spec}) => spec?.matchingPrecedence ?? 0,
  },
  {
    name: 'DistinguisherMethod',
    description: 'How requests are assigned to flows.',
    of: ({spec}) => spec?.distinguisherMethod?.type ?? '<none>',
  },
  ageColumn,
  {
    name: 'MissingPL',
    description: 'references a broken or non-existent PriorityLevelConfiguration',
    of: ({status}) => status?.conditions?.find(({type}) => type === 'Dangling')?.status ?? '?',
  },
];

/** FlowSchema: classifies requests and assigns them to a priority level. */
export const flowSchemas = defineResource<FlowSchema>({
  kind: kinds.flowSchemas,
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(schema) {
    const spec = (schema.spec ??= {} as Spec);
    spec.matchingPrecedence ||= 1000;
  },
  main: {metadata: 'whole', writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']}, validate},
  subresources: {status: {writes: {update: ['status']}, validate: ({status}) => validateTypes(status?.conditions)}},
  presentation: {columns, compareRows: byPrecedence},
});
