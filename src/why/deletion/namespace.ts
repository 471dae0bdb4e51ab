import {kinds} from '#src/api/kinds/index.js';
import type {Namespace} from '#src/api/types.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, conditionOf, type Condition} from '#src/why/facts/conditions.js';
import {subject, type Finding, type Rule} from '#src/why/facts/finding.js';
import {referenceTo, subjectText, type Reference} from '#src/why/facts/reference.js';

/** The conditions that say why a namespace is still there, in the order of their weight. */
const failures = [
  'NamespaceDeletionDiscoveryFailure',
  'NamespaceDeletionGroupVersionParsingFailure',
  'NamespaceDeletionContentFailure',
] as const;

/** Returns an APIService that is not available, for which discovery fails. */
const awayService = async (cluster: Cluster): Promise<Reference | undefined> => {
  const services = await cluster.list(kinds.apiServices);
  const away = services.find(service => conditionOf(service, 'Available')?.status === 'False');
  return away && referenceTo(kinds.apiServices, away);
};

/** Returns the plurals and groups that a message counts. */
const countedIn = (message: string): readonly {readonly plural: string; readonly group: string}[] => {
  const words = message.split(' ');
  return words.flatMap((word, at) => {
    const [plural = '', ...group] = word.split('.');
    const isCounted = words[at + 1] === 'has' && words[at + 3] === 'resource' && words[at + 4]?.startsWith('instances');
    return isCounted && group.length > 0 ? [{plural, group: group.join('.')}] : [];
  });
};

/** Returns the first object that a message of the namespace controller counts: `pods. has 1 resource instances`. */
const remaining = async (message: string, namespace: string, cluster: Cluster): Promise<Reference | undefined> => {
  for (const {plural, group} of countedIn(message)) {
    const kind = cluster.discovery.kindOfResource(plural, group);
    const left = kind ? await cluster.listMetadata(kind, {namespace}) : [];
    const [found] = [...left].sort((a, b) => (b.metadata?.finalizers?.length ?? 0) - (a.metadata?.finalizers?.length ?? 0));
    if (kind && found) return referenceTo(kind, found);
  }
  return undefined;
};

const failed = async ({type, reason, message, lastTransitionTime}: Condition, cluster: Cluster): Promise<Finding> => ({
  rule: 'namespace-content-unknown',
  sentence: `it is being deleted, and what it holds cannot be found out: ${becauseOf({reason, message} as Condition)}`,
  since: lastTransitionTime,
  ends: 'The namespace controller tries again by itself, once the servers of all API groups answer.',
  next: type === 'NamespaceDeletionDiscoveryFailure' ? await awayService(cluster) : undefined,
});

const terminating: Rule<Namespace> = async (namespace, cluster) => {
  const {deletionTimestamp, name = ''} = namespace.metadata ?? {};
  if (!deletionTimestamp) return undefined;
  const failure = failures.map(type => conditionOf(namespace, type)).find(condition => condition?.status === 'True');
  if (failure) return failed(failure, cluster);
  const content = conditionOf(namespace, 'NamespaceContentRemaining');
  const finalizers = conditionOf(namespace, 'NamespaceFinalizersRemaining');
  if (content?.status === 'True' || finalizers?.status === 'True') {
    const left = await remaining(content?.message ?? '', name, cluster);
    const kept = finalizers?.status === 'True' ? `, kept by finalizers (${finalizers.message?.replace(/^.*remaining: /, '')})` : '';
    return {
      rule: 'namespace-content',
      sentence: `it is being deleted, and ${left ? `${subjectText(left)} is` : 'objects are'} still in it${kept}`,
      since: deletionTimestamp,
      ends: 'The end of the last object in it.',
      next: left,
    };
  }
  const others = namespace.spec?.finalizers?.filter(each => each !== cluster.naming.namespaceFinalizer) ?? [];
  if (others.length > 0)
    return {
      rule: 'namespace-finalizer',
      sentence: `it is being deleted, and the finalizer ${others[0]} in its spec keeps it`,
      since: deletionTimestamp,
      ends: 'Its controller removes the finalizer by the subresource finalize.',
    };
  return {
    rule: 'namespace-controller',
    sentence: 'it is being deleted, and the namespace controller has not reported yet what is left in it',
    since: deletionTimestamp,
    ends: 'The namespace-controller of the controller manager, as soon as it works.',
  };
};

export const namespaceSubject = subject<Namespace>({
  rules: [terminating],
  rest: ({status}) => `it is ${status?.phase ?? 'Active'} and is not being deleted`,
});
