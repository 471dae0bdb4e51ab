import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Container, Pod, PodSpec} from '#src/api/pod.js';
import {quantityOf} from '#src/api/quantity.js';
import {parseTime} from '#src/api/time.js';
import {podLimits, podRequests, type ResourceList} from '#src/model/pod/requests.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {isTerminal} from '#src/model/pod/state.js';
import {hugePages, isExtendedResource, isHugePages, isPodLevelResource} from '#src/model/resource-names.js';
import type {QuotaEvaluator, ScopeSelector} from './evaluator.js';
import {selectorMatches} from './scopes.js';

const compute = ['cpu', 'memory', 'ephemeral-storage'];
const podResources: ReadonlySet<string> = new Set([
  'pods',
  'count/pods',
  ...compute,
  ...compute.flatMap(name => [`requests.${name}`, `limits.${name}`]),
]);
/** Resources that every container must state if a quota limits them. */
const requiredPerContainer: ReadonlySet<string> = new Set([
  'cpu',
  'memory',
  'requests.cpu',
  'requests.memory',
  'limits.cpu',
  'limits.memory',
]);

/** Converts requests and limits to quota resource names. */
const quotaUsage = (requests: ResourceList, limits: ResourceList, naming: Naming): ResourceList => {
  const used: ResourceList = new Map();
  for (const [name, amount] of requests) {
    if (compute.includes(name) || name.startsWith(hugePages)) used.set(name, amount).set(`requests.${name}`, amount);
    else if (isExtendedResource(name, naming)) used.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of limits) if (compute.includes(name)) used.set(`limits.${name}`, amount);
  return used;
};

/** Whether a pod is charged: not if it is terminal, nor if its deletion grace period has expired. */
const countsTowardsQuota = (pod: Frozen<Pod>, now: number): boolean => {
  if (isTerminal(pod)) return false;
  const {deletionTimestamp, deletionGracePeriodSeconds} = pod.metadata ?? {};
  const end = parseTime(deletionTimestamp);
  return end === undefined || deletionGracePeriodSeconds === undefined || now <= end + deletionGracePeriodSeconds * 1000;
};

const crossesNamespaces = ({affinity}: Frozen<PodSpec>): boolean => {
  const terms = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap(side => [
    ...(side?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({podAffinityTerm}) => podAffinityTerm),
  ]);
  return terms.some(term => (term?.namespaces?.length ?? 0) > 0 || term?.namespaceSelector !== undefined);
};

const hasActiveDeadline = ({activeDeadlineSeconds}: Frozen<PodSpec>): boolean =>
  activeDeadlineSeconds !== undefined && activeDeadlineSeconds >= 0;

const scopes: Readonly<Record<string, (scope: ScopeSelector, pod: Frozen<Pod>) => boolean>> = {
  Terminating: (_, {spec}) => hasActiveDeadline(spec!),
  NotTerminating: (_, {spec}) => !hasActiveDeadline(spec!),
  BestEffort: (_, pod) => podQosClass(pod as Pod) === 'BestEffort',
  NotBestEffort: (_, pod) => podQosClass(pod as Pod) !== 'BestEffort',
  PriorityClass: (scope, {spec}) => selectorMatches(scope, spec?.priorityClassName),
  CrossNamespacePodAffinity: (_, {spec}) => crossesNamespaces(spec!),
};

/** Returns the required resources that a container does not state. */
const missingResources = ({resources}: Frozen<Container>, names: readonly string[]): string[] => {
  const given = new Set([
    ...Object.keys(resources?.requests ?? {}).flatMap(name => [name, `requests.${name}`]),
    ...Object.keys(resources?.limits ?? {}).map(name => `limits.${name}`),
  ]);
  return names.filter(name => !given.has(name));
};

const constraintError = (names: readonly string[], {spec}: Frozen<Pod>, podLevel: boolean): string | undefined => {
  const required = names.filter(name => requiredPerContainer.has(name));
  const own = {...spec?.resources?.requests, ...spec?.resources?.limits};
  if (podLevel && Object.keys(own).some(isPodLevelResource)) return undefined;
  const containersByResource = new Map<string, Set<string>>();
  for (const container of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]) {
    for (const name of missingResources(container, required))
      containersByResource.set(name, (containersByResource.get(name) ?? new Set()).add(container.name));
  }
  if (containersByResource.size === 0) return undefined;
  return `must specify ${[...containersByResource]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, containers]) => `${name} for: ${[...containers].sort().join(',')}`)
    .join('; ')}`;
};

/** Evaluates pods. */
export const podEvaluator = (naming: Naming, gate: (name: 'PodLevelResources') => boolean): QuotaEvaluator => {
  const podLevel = gate('PodLevelResources');
  return {
    group: '',
    resource: 'pods',
    kind: kinds.pods,
    handles: (operation, subresource) => (subresource === '' ? operation === 'CREATE' : subresource === 'resize' && operation === 'UPDATE'),
    matchesResource(name) {
      const bare = name.startsWith('requests.') ? name.slice('requests.'.length) : undefined;
      return podResources.has(name) || isHugePages(bare ?? name) || (bare !== undefined && isExtendedResource(bare, naming));
    },
    usage(object, now) {
      const pod = object as Frozen<Pod>;
      const one = quantityOf(1);
      const always: ResourceList = new Map([['count/pods', one]]);
      if (!countsTowardsQuota(pod, now)) return always;
      return new Map([
        ...always,
        ['pods', one],
        ...quotaUsage(podRequests(pod, {podLevel, useStatusResources: true}), podLimits(pod, {podLevel}), naming),
      ]);
    },
    // Setting a deadline moves a pod from the scope NotTerminating to Terminating.
    scopedBy: object => String((object as Frozen<Pod>).spec?.activeDeadlineSeconds),
    matchesScope: (scope, object) => scopes[scope.scopeName]?.(scope, object as Frozen<Pod>) ?? false,
    constraintError: (names, object) => constraintError(names, object as Frozen<Pod>, podLevel),
  };
};
