import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {FlowSchema, PriorityLevel} from '#src/resources/flowcontrol/bootstrap.js';
import {startWire} from '#test/apiserver/wire.js';
import type {ServerOptions} from '#test/fixtures/server.js';

export const aUser = (name: string, ...groups: string[]): UserInfo => ({name, groups: [...groups, 'system:authenticated']});

type Limited = NonNullable<NonNullable<PriorityLevel['spec']>['limited']>;

export const aLevel = (name: string, limited: Partial<Limited>): PriorityLevel => ({
  metadata: {name},
  spec: {type: 'Limited', limited: {limitResponse: {type: 'Reject'}, ...limited}},
});

export const queuing = (queues: number, handSize: number, queueLengthLimit: number): NonNullable<Limited['limitResponse']> => ({
  type: 'Queue',
  queuing: {queues, handSize, queueLengthLimit},
});

const everything = {
  resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true}],
  nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}],
};

type Spec = NonNullable<FlowSchema['spec']>;
type Rules = NonNullable<Spec['rules']>[number];

/** A schema that matches everything of a group, unless it has other rules. */
export const aSchema = (
  name: string,
  level: string,
  matchingPrecedence: number,
  rules: Partial<Rules> & {readonly group?: string} = {},
  distinguisher: 'ByUser' | 'ByNamespace' = 'ByUser',
): FlowSchema => {
  const {group = 'system:authenticated', ...own} = rules;
  const all = own.resourceRules || own.nonResourceRules ? {} : everything;
  return {
    metadata: {name},
    spec: {
      matchingPrecedence,
      priorityLevelConfiguration: {name: level},
      distinguisherMethod: {type: distinguisher},
      rules: [{subjects: [{kind: 'Group', group: {name: group}}], ...all, ...own}],
    },
  };
};

/** Requests that are executed until they are released. */
export class Slow {
  readonly #waiting: (() => void)[] = [];
  readonly started: string[] = [];

  readonly route = {
    path: '/slow/*',
    handler: ({info}: {info: {path: string}}) => {
      this.started.push(info.path.slice('/slow/'.length));
      return new Promise<{status: number; headers: Record<string, string>; body: {kind: 'empty'}}>(resolve =>
        this.#waiting.push(() => resolve({status: 200, headers: {}, body: {kind: 'empty'}})),
      );
    },
  };

  /** Ends the oldest executions. */
  release(count = 1): void {
    for (const release of this.#waiting.splice(0, count)) release();
  }
}

/** A server with priority and fairness in force, and a path whose requests end when the test lets them. */
export const startFair = async (
  seats: number,
  {levels, schemas, ...options}: ServerOptions & {readonly levels: readonly PriorityLevel[]; readonly schemas: readonly FlowSchema[]},
) => {
  const slow = new Slow();
  const meter = new MetricsRegistry({release: '1.35'});
  const env = await startWire({flowControl: {seats}, meter, routes: [slow.route], namingName: 'kubernetes', ...options});
  const client = env.clientOf({name: 'admin', groups: ['system:masters']});
  const [ofLevels, ofSchemas] = [client.resource(kinds.priorityLevelConfigurations), client.resource(kinds.flowSchemas)];
  for (const level of levels) await ofLevels.create(level);
  for (const schema of schemas) await ofSchemas.create(schema);
  const following = new AbortController();
  await env.server.flowControl!.follow(env.server.registry, following.signal);
  const hasLevel = (name: string) => env.server.flowControl!.levels.some(one => one.name === name);
  const level = (name: string) => env.server.flowControl!.levels.find(one => one.name === name)!;
  return {...env, slow, meter, levels: ofLevels, schemas: ofSchemas, level, hasLevel, stop: () => following.abort()};
};
