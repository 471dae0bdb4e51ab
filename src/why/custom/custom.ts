// Objects of any kind, by what controllers agree on: conditions, observedGeneration, and owned objects.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, type Condition} from '#src/why/facts/conditions.js';
import {subject, type Rule} from '#src/why/facts/finding.js';
import {referenceTo, subjectText, type Reference} from '#src/why/facts/reference.js';

interface Custom extends KubeObject {
  spec?: object;
  status?: {conditions?: Condition[]; observedGeneration?: number; phase?: string};
}

/** Conditions that are true when all is well, the most telling first. */
const goodTypes = ['Ready', 'Available', 'Healthy', 'Established', 'Accepted', 'Programmed', 'Synced', 'Reconciled', 'Succeeded'];
/** Conditions that are true when something is wrong or under way. */
const badTypes = ['Stalled', 'Failed', 'Degraded', 'Reconciling', 'Progressing'];

const conditionsOf = ({status}: Custom): readonly Condition[] => (Array.isArray(status?.conditions) ? status.conditions : []);

const stale: Rule<Custom> = object => {
  const {generation = 0, managedFields = []} = object.metadata ?? {};
  const seen = [object.status?.observedGeneration, ...conditionsOf(object).map(({observedGeneration}) => observedGeneration)].filter(
    each => each !== undefined,
  );
  if (seen.length === 0 || Math.max(...seen) >= generation) return undefined;
  const {manager, time} = managedFields.find(({subresource}) => subresource === 'status') ?? {};
  return {
    rule: 'generation-unseen',
    sentence: `its controller${manager ? ` ${manager}` : ''} has not looked at its generation ${generation}, and reports on generation ${Math.max(...seen)}`,
    since: time,
    ends: 'Its controller, as soon as it works.',
  };
};

/** The kinds of the objects that operators make. */
const owned: readonly Kind[] = [
  kinds.deployments,
  kinds.statefulSets,
  kinds.daemonSets,
  kinds.jobs,
  kinds.pods,
  kinds.persistentVolumeClaims,
];

/** An object of this one that is not as it should be, by its own conditions and counts. */
const troubled = async ({metadata}: KubeObject, cluster: Cluster): Promise<Reference | undefined> => {
  if (!metadata?.namespace) return undefined;
  for (const kind of owned) {
    const objects = await cluster.list<Custom>(kind as Kind<Custom>, {namespace: metadata.namespace});
    const found = objects.find(object => object.metadata?.ownerReferences?.some(({uid}) => uid === metadata.uid) && isTroubled(object));
    if (found) return referenceTo(kind, found);
  }
  return undefined;
};

const isTroubled = ({status, spec}: Custom): boolean => {
  const {phase, conditions = []} = status ?? {};
  const {replicas, readyReplicas = 0, desiredNumberScheduled, numberReady = 0} = {...spec, ...status} as Readonly<Record<string, number>>;
  if (conditions.some(({type, status: is}) => is === 'False' && (type === 'Ready' || type === 'Available'))) return true;
  if (replicas !== undefined && readyReplicas < replicas) return true;
  if (desiredNumberScheduled !== undefined && numberReady < desiredNumberScheduled) return true;
  return phase === 'Pending' || conditions.some(({type, status: is}) => is === 'True' && type === 'Failed');
};

const unhealthy: Rule<Custom> = async (object, cluster) => {
  const conditions = conditionsOf(object);
  const bad = (type: string, wrong: (status: string) => boolean) => conditions.find(each => each.type === type && wrong(each.status));
  const found =
    bad('Stalled', status => status === 'True') ??
    goodTypes.map(type => bad(type, status => status !== 'True')).find(Boolean) ??
    badTypes.map(type => bad(type, status => status === 'True')).find(Boolean);
  if (!found) return undefined;
  const next = await troubled(object, cluster);
  return {
    rule: found.type === 'Stalled' ? 'stalled' : 'condition',
    sentence: `its condition ${found.type} is ${found.status}: ${becauseOf(found)}`,
    since: found.lastTransitionTime,
    ends: next ? `${subjectText(next)}, which it owns, once it is well.` : 'Its controller, once it reports another condition.',
    next,
  };
};

/** Kinds with a spec of which no controller has written a status. */
const unreported: Rule<Custom> = object => {
  const {spec, status, apiVersion = '', metadata} = object;
  const group = apiVersion.split('/')[0] ?? '';
  const isCustom = apiVersion.includes('/') && group.includes('.') && !/\.(?:k8s|plat|kubernetes)\.io$/.test(group);
  if (!isCustom || !spec || (status && Object.keys(status).length > 0)) return undefined;
  return {
    rule: 'status-missing',
    sentence: 'no controller has written a status of it',
    since: metadata?.creationTimestamp,
    ends: `A controller of ${object.kind} that runs and may write its status.`,
  };
};

export const customSubject = subject<Custom>({
  rules: [stale, unhealthy, unreported],
  rest: object => {
    const good = conditionsOf(object).filter(({type, status}) => goodTypes.includes(type) && status === 'True');
    if (good.length > 0)
      return `its ${good.length === 1 ? 'condition' : 'conditions'} ${good.map(({type}) => type).join(', ')} ${good.length === 1 ? 'is' : 'are'} true, and it is not being deleted`;
    return object.status
      ? 'it is not being deleted, and its status has no condition that says that it waits'
      : 'it is not being deleted, and objects of its kind have no status';
  },
});
