import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';

// The built-in objects of API priority and fairness, and their specs. The server creates them and keeps the mandatory
// ones unchanged.

export type FlowSchema = ObjectOf<typeof kinds.flowSchemas>;
export type PriorityLevel = ObjectOf<typeof kinds.priorityLevelConfigurations>;
type Rules = NonNullable<NonNullable<FlowSchema['spec']>['rules']>[number];
type Subject = Rules['subjects'][number];

/** The initial objects of API priority and fairness (KEP-1040): mandatory and suggested ones. */
export interface FlowControlObjects {
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevel[];
}

const all = ['*'];

const groups = (...names: string[]): Subject[] => names.map(name => ({kind: 'Group', group: {name}}));
const users = (...names: string[]): Subject[] => names.map(name => ({kind: 'User', user: {name}}));
const accounts = (namespace: string, ...names: string[]): Subject[] =>
  names.map(name => ({kind: 'ServiceAccount', serviceAccount: {name, namespace}}));

const on = (verbs: string[], apiGroup: string, resources: string[], namespaces: string[], clusterScope = false) => ({
  verbs,
  apiGroups: [apiGroup],
  resources,
  ...(clusterScope ? {clusterScope} : {}),
  namespaces,
});

const everything = {
  resourceRules: [on(all, '*', all, all, true)],
  nonResourceRules: [{verbs: all, nonResourceURLs: all}],
};

/** Returns the annotation that marks objects no user has changed, which follow the server's defaults. */
export const autoupdateKey = (naming: Naming): string => naming.subKey('apf', 'autoupdate-spec');

const schema = (
  naming: Naming,
  name: string,
  level: string,
  matchingPrecedence: number,
  distinguisher: 'ByUser' | 'ByNamespace' | '',
  rules: Rules,
): FlowSchema => ({
  metadata: {name, annotations: {[autoupdateKey(naming)]: 'true'}},
  spec: {
    priorityLevelConfiguration: {name: level},
    matchingPrecedence,
    ...(distinguisher ? {distinguisherMethod: {type: distinguisher}} : {}),
    rules: [rules],
  },
});

const level = (naming: Naming, name: string, spec: PriorityLevel['spec']): PriorityLevel => ({
  metadata: {name, annotations: {[autoupdateKey(naming)]: 'true'}},
  ...(spec ? {spec} : {}),
});

const limited = (
  nominalConcurrencyShares: number,
  lendablePercent: number,
  queuing?: readonly [queues: number, handSize: number, queueLengthLimit: number],
): PriorityLevel['spec'] => ({
  type: 'Limited',
  limited: {
    nominalConcurrencyShares,
    limitResponse: queuing
      ? {type: 'Queue', queuing: {queues: queuing[0], handSize: queuing[1], queueLengthLimit: queuing[2]}}
      : {type: 'Reject'},
    lendablePercent,
  },
});

const everyone = groups('system:unauthenticated', 'system:authenticated');

/** Returns the objects whose spec is restored when it changes. */
export const mandatoryObjects = (naming: Naming): FlowControlObjects => ({
  schemas: [
    schema(naming, 'exempt', 'exempt', 1, '', {subjects: groups('system:masters'), ...everything}),
    schema(naming, 'catch-all', 'catch-all', 10_000, 'ByUser', {subjects: everyone, ...everything}),
  ],
  levels: [
    level(naming, 'exempt', {type: 'Exempt', exempt: {nominalConcurrencyShares: 0, lendablePercent: 0}}),
    level(naming, 'catch-all', limited(5, 0)),
  ],
});

const systemSchemas = (naming: Naming): FlowSchema[] => [
  schema(naming, 'system-nodes', 'system', 500, 'ByUser', {subjects: groups('system:nodes'), ...everything}),
  schema(naming, 'system-node-high', 'node-high', 400, 'ByUser', {
    subjects: groups('system:nodes'),
    resourceRules: [on(all, '', ['nodes', 'nodes/status'], all, true), on(all, naming.group('coordination'), ['leases'], all)],
  }),
  schema(naming, 'probes', 'exempt', 2, '', {
    subjects: everyone,
    nonResourceRules: [{verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez']}],
  }),
];

const componentSchemas = (naming: Naming): FlowSchema[] => {
  const {systemNamespace} = naming;
  const [manager, scheduler] = [naming.componentUser('controller-manager'), naming.componentUser('scheduler')];
  return [
    schema(naming, 'system-leader-election', 'leader-election', 100, 'ByUser', {
      subjects: [...users(manager, scheduler), ...accounts(systemNamespace, '*')],
      resourceRules: [on(['get', 'create', 'update'], naming.group('coordination'), ['leases'], all)],
    }),
    schema(naming, naming.component('controller-manager'), 'workload-high', 800, 'ByNamespace', {subjects: users(manager), ...everything}),
    schema(naming, naming.component('scheduler'), 'workload-high', 800, 'ByNamespace', {subjects: users(scheduler), ...everything}),
    schema(naming, naming.component('system-service-accounts'), 'workload-high', 900, 'ByNamespace', {
      subjects: accounts(systemNamespace, '*'),
      ...everything,
    }),
    schema(naming, 'service-accounts', 'workload-low', 9000, 'ByUser', {subjects: groups('system:serviceaccounts'), ...everything}),
    schema(naming, 'global-default', 'global-default', 9900, 'ByUser', {subjects: everyone, ...everything}),
  ];
};

/** Returns the objects that are created initially and may be changed or deleted. */
export const suggestedObjects = (naming: Naming): FlowControlObjects => ({
  schemas: [...systemSchemas(naming), ...componentSchemas(naming)],
  levels: [
    level(naming, 'system', limited(30, 33, [64, 6, 50])),
    level(naming, 'node-high', limited(40, 25, [64, 6, 50])),
    level(naming, 'leader-election', limited(10, 0, [16, 4, 50])),
    level(naming, 'workload-high', limited(40, 50, [128, 6, 50])),
    level(naming, 'workload-low', limited(100, 90, [128, 6, 50])),
    level(naming, 'global-default', limited(20, 50, [128, 6, 50])),
  ],
});
