import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import type {Aggregation} from '#src/apiserver/aggregation/aggregation.js';
import type {Registrations} from '#src/apiserver/aggregation/registrations.js';
import {ensureBootstrapPolicy} from '#src/apiserver/authorization/bootstrap/ensure.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {customInstances} from '#src/apiserver/custom/instances.js';
import {inMemoryPeers, Peers} from '#src/apiserver/registry/peers.js';
import {storedResources} from '#src/apiserver/registry/stored-versions.js';
import type {ApiServer} from '#src/apiserver/server.js';
import type {Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {publishAuthenticationConfig} from '#src/controlplane/authentication-config.js';
import {ensureDefaultServiceCIDR} from '#src/controlplane/default-service-cidr.js';
import {maintainFlowControl} from '#src/controlplane/flow-control.js';
import {reportDanglingSchemas} from '#src/controlplane/flow-schema-status.js';
import {maintainIdentityLease, serverIdentity} from '#src/controlplane/identity-lease.js';
import {ensureLegacyTokenTracking} from '#src/controlplane/legacy-token-tracking.js';
import {coordinateElections} from '#src/controlplane/leader-election/run.js';
import {serverLoops} from '#src/controlplane/loops.js';
import {ensureSystemNamespaces} from '#src/controlplane/namespaces.js';
import {ensureSystemPriorityClasses} from '#src/controlplane/priority-classes.js';
import {maintainSelfService, type SelfService} from '#src/controlplane/self-service.js';
import {ServiceRepair} from '#src/controlplane/service-repair.js';
import {publishStorageVersions} from '#src/controlplane/storage-versions.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {LeaseTiming} from '#src/runtime/leader-election/timing.js';
import type {Store} from '#src/storage/store.js';
import {apiServiceHooks} from './apiservices.js';
import {authenticationConfig} from './authentication.js';
import type {Authorizers} from './authorization.js';
import {definitionHooks} from './definitions.js';
import type {ServerHealth, StartHook} from './health.js';
import type {ServerPeers} from './peers.js';
import type {ProxyClient} from '#src/plane/outgoing/proxy-client.js';
import {selfServiceOf, serviceRangesOf} from './self-service.js';
import {storePrefix} from './store-servers.js';
import {watchSecondsInProcess} from '#src/plane/component/in-process.js';

export interface ServerStartParts {
  readonly options: ApiserverOptions;
  readonly server: ApiServer;
  /** Has the server's own identity. */
  readonly client: Client;
  /** The server's own identity. */
  readonly user: UserInfo;
  readonly health: ServerHealth;
  readonly authorizers: Authorizers;
  readonly proxy: ProxyClient;
  readonly registrations: Registrations;
  readonly aggregation: Aggregation | undefined;
  readonly store: Store;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: MetricsRegistry;
  gate(name: string): boolean;
  readonly serverAddress: string;
  /** The name of the host, from which the server's identity follows. */
  readonly host: string;
  /** The other servers on the same store, if requests are passed to them. */
  readonly peers: ServerPeers | undefined;
}

/** The signals that end the work of hooks: loops over the server's own objects before watches end, all else after. */
export interface StartSignals {
  readonly looping: AbortSignal;
  readonly serving: AbortSignal;
}

export interface ServerStart {
  /** The hooks that must finish before the server is ready: bootstrap objects, and loops over its own objects. */
  readonly hooks: readonly StartHook[];
  /** Removes this server from the endpoints. */
  leave(): Promise<void>;
}

/** Whether servers publish the versions in which they store resources. */
export const publishesStorageVersions = ({registry}: ApiServer, gate: (name: string) => boolean): boolean =>
  gate('StorageVersionAPI') && gate('APIServerIdentity') && registry.serves(kinds.storageVersions);

/** Hooks that have nothing left to do, under upstream's names. */
const beforeHooks = ({enablePriorityAndFairness}: ApiserverOptions): StartHook[] => {
  const names = [
    'start-apiserver-admission-initializer',
    'generic-apiserver-start-informers',
    enablePriorityAndFairness ? 'priority-and-fairness-filter' : 'max-in-flight-filter',
    'storage-object-count-tracker-hook',
  ];
  return names.map(name => ({name, run: () => Promise.resolve()}));
};

/** Steps that several hooks wait for. Each runs once, when the first of them asks. */
const sharedSteps = (parts: ServerStartParts, signals: StartSignals) => {
  const {options, server, client, store, clock, random, log, meter, gate, host} = parts;
  const {registry, storedVersions} = server;
  const hasRanges = registry.serves(kinds.serviceCIDRs);
  const namespaces = lazily(() => ensureSystemNamespaces(client));
  const announced = lazily(async () => {
    await namespaces();
    if (gate('APIServerIdentity')) await maintainIdentityLease({client, clock, random, log, host, isAlone: !store.shared}, signals.serving);
  });
  return {
    hasRanges,
    namespaces,
    announced,
    /** Without such objects, as in older releases, addresses come from the configured ranges. */
    ranges: lazily(async () => (hasRanges ? ensureDefaultServiceCIDR({client, clock, log, ranges: serviceRangesOf(options)}) : undefined)),
    loops: lazily(() => serverLoops({client, clock, random, log, meter, gate, watchSeconds: watchSecondsInProcess}, signals.looping)),
    versionsPublished: lazily(async () => {
      await announced();
      await publishStorageVersions(
        {
          client,
          clock,
          log,
          server: serverIdentity(host),
          resources: storedResources(registry),
          updated: (resource, error) => storedVersions.updated(resource, error),
        },
        signals.serving,
      );
    }),
  };
};

type SharedSteps = ReturnType<typeof sharedSteps>;

/** The election of leaders among candidates, where the API of candidates is served. */
const coordinationHooks = (
  {options, server, client, clock, random, log, meter, naming, gate}: ServerStartParts,
  {namespaces}: SharedSteps,
  {looping}: StartSignals,
): StartHook[] => {
  if (!gate('CoordinatedLeaderElection')) return [];
  const timing: LeaseTiming = {
    leaseDurationMs: options.coordinatedLeadershipLeaseDuration,
    renewDeadlineMs: options.coordinatedLeadershipRenewDeadline,
    retryPeriodMs: options.coordinatedLeadershipRetryPeriod,
  };
  const run = async (): Promise<void> => {
    if (!server.registry.serves(kinds.leaseCandidates)) {
      const api = naming.apiVersion('coordination', kinds.leaseCandidates.version);
      return log.warn(`no leaders are elected among candidates: --runtime-config=${api}=true serves their API`);
    }
    await namespaces();
    const parts = {client, clock, random, log, meter, gate, watchSeconds: watchSecondsInProcess};
    coordinateElections(parts, timing, looping).catch((error: unknown) => {
      if (!looping.aborted) log.error({err: error}, 'the election of leaders ended');
    });
  };
  return [{name: `start-${naming.component('apiserver')}-coordinated-leader-election-controller`, run}];
};

/** Namespaces, the identity of this server, and what clients authenticate with. */
const identityHooks = ({options, client, naming, gate}: ServerStartParts, {namespaces, announced}: SharedSteps): StartHook[] => {
  const identity = `start-${naming.component('apiserver')}-identity-lease`;
  return [
    {name: 'start-system-namespaces-controller', run: namespaces},
    {
      name: 'start-cluster-authentication-info-controller',
      async run() {
        await announced();
        await publishAuthenticationConfig(client, authenticationConfig(options));
      },
    },
    // The server with an identity lease also deletes expired ones.
    ...(gate('APIServerIdentity') ? [`${identity}-controller`, `${identity}-garbage-collector`].map(name => ({name, run: announced})) : []),
  ];
};

/** The endpoints of this server in the service of the API; `started` once a hook has entered it. */
interface OwnEndpoints {
  started?: SelfService;
}

/** The ranges and repair of service addresses, and the service of the API itself. */
const addressHooks = (
  {options, server, client, store, naming, clock, log, serverAddress}: ServerStartParts,
  {hasRanges, namespaces, ranges}: SharedSteps,
  {serving}: StartSignals,
  own: OwnEndpoints,
): StartHook[] => [
  ...(hasRanges ? [{name: `start-${naming.self}-service-cidr-controller`, run: ranges}] : []),
  {
    name: 'bootstrap-controller',
    async run() {
      await Promise.all([namespaces(), ranges()]);
      const peers = store.shared ? new Peers({store, prefix: storePrefix(options)}) : inMemoryPeers();
      own.started = await maintainSelfService(
        {client, clock, log, ...(store.shared ? {} : {revision: () => store.revision()}), ...selfServiceOf(options, serverAddress, peers)},
        serving,
      );
    },
  },
  {
    name: 'start-service-ip-repair-controllers',
    async run() {
      const {addresses, nodePorts: ports} = server.registry.settings.writes.pools;
      const repair = new ServiceRepair({client, clock, log, addresses, ports});
      await repair.run();
      repair.follow(serving);
    },
  },
];

/** Legacy tokens, priority classes and flow control. */
const objectHooks = (
  {server, client, store, clock, random, log}: ServerStartParts,
  {namespaces}: SharedSteps,
  signals: StartSignals,
): StartHook[] => [
  {
    name: 'start-legacy-token-tracking-controller',
    async run() {
      await namespaces();
      await ensureLegacyTokenTracking(client, clock.now());
    },
  },
  {name: 'scheduling/bootstrap-system-priority-classes', run: () => ensureSystemPriorityClasses(client)},
  ...(server.registry.serves(kinds.flowSchemas)
    ? [
        {
          name: 'priority-and-fairness-config-producer',
          run: () => maintainFlowControl({client, clock, log, revision: () => store.revision()}, signals.serving),
        },
      ]
    : []),
  ...(server.flowControl
    ? [
        {
          name: 'priority-and-fairness-config-consumer',
          run: async () => reportDanglingSchemas({client, clock, random, log, watchSeconds: watchSecondsInProcess}, signals.looping),
        },
      ]
    : []),
];

/** Definitions of custom resources, aggregated APIs, and the bootstrap policy. */
const extensionHooks = (parts: ServerStartParts, {loops}: SharedSteps, signals: StartSignals): StartHook[] => {
  const {server, client, health, authorizers, proxy, registrations, aggregation, naming} = parts;
  const {registry, custom} = server;
  return [
    ...(registry.serves(kinds.customResourceDefinitions)
      ? definitionHooks({instances: customInstances(registry, custom, parts.user), loops}, signals.looping)
      : []),
    ...(proxy.pair
      ? [{name: 'aggregator-reload-proxy-client-cert', run: async () => proxy.follow(() => registrations.renew(), signals.serving)}]
      : []),
    ...(aggregation && registry.serves(kinds.apiServices)
      ? apiServiceHooks({server, health, naming, aggregation, loops}, signals.looping)
      : []),
    ...(authorizers.rbac
      ? [{name: 'rbac/bootstrap-roles', run: () => ensureBootstrapPolicy(client, naming, bootstrapPolicy(naming, parts.gate))}]
      : []),
  ];
};

/** The work of an API server on its own objects once it serves. */
export const serverStart = (parts: ServerStartParts, signals: StartSignals): ServerStart => {
  const steps = sharedSteps(parts, signals);
  const own: OwnEndpoints = {};
  const all: StartHook[] = [
    ...beforeHooks(parts.options),
    ...identityHooks(parts, steps),
    ...addressHooks(parts, steps, signals, own),
    ...(parts.peers?.hooks(steps.loops) ?? []),
    ...coordinationHooks(parts, steps, signals),
    ...objectHooks(parts, steps, signals),
    ...extensionHooks(parts, steps, signals),
  ];
  const {versionsPublished} = steps;
  // The writes of the other hooks would be refused until then.
  const after = ({name, run}: StartHook): StartHook => ({name, run: () => versionsPublished().then(run)});
  return {
    hooks: publishesStorageVersions(parts.server, parts.gate)
      ? [{name: 'built-in-resources-storage-version-updater', run: versionsPublished}, ...all.map(after)]
      : all,
    async leave() {
      await parts.peers?.leave().catch((error: unknown) => parts.log.warn({err: error}, 'the address for other servers was not removed'));
      await own.started
        ?.leave()
        .catch((error: unknown) => parts.log.warn({err: error}, 'the endpoint of this server could not be taken back'));
    },
  };
};
