// What an API server does to its own objects when it starts, as hooks that must finish before it is ready: bootstrap
// objects, and loops over its own objects. Hooks run concurrently; each names those that must finish before it.

import {kinds} from '#src/api/kinds/index.js';
import {ensureBootstrapPolicy} from '#src/apiserver/authorization/bootstrap/ensure.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {customInstances} from '#src/apiserver/custom/instances.js';
import {isUnreadable} from '#src/apiserver/registry/read/unreadable.js';
import {storedResources} from '#src/apiserver/registry/stored-versions.js';
import type {ApiServer} from '#src/apiserver/server.js';
import {publishAuthenticationConfig} from '#src/controlplane/authentication-config.js';
import {ensureDefaultServiceCIDR} from '#src/controlplane/default-service-cidr.js';
import {maintainFlowControl, reconcileFlowControl} from '#src/controlplane/flow-control.js';
import {reportDanglingSchemas} from '#src/controlplane/flow-schema-status.js';
import {maintainIdentityLease, serverIdentity} from '#src/controlplane/identity-lease.js';
import {ensureLegacyTokenTracking} from '#src/controlplane/legacy-token-tracking.js';
import {serverLoops, type Loops} from '#src/controlplane/loops.js';
import {ensureSystemNamespaces} from '#src/controlplane/namespaces.js';
import {ensureSystemPriorityClasses} from '#src/controlplane/priority-classes.js';
import {ServiceRepair} from '#src/controlplane/service-repair.js';
import {publishStorageVersions} from '#src/controlplane/storage-versions.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {authenticationConfig} from '#src/plane/api-server/authentication/authentication.js';
import {watchSecondsInProcess} from '#src/plane/component/in-process.js';
import {apiServiceHooks} from './apiservices.js';
import {definitionHooks} from './definitions.js';
import {electionHooks} from './elections.js';
import type {StartHook} from './hook.js';
import type {StartParts, StartSignals} from './parts.js';

/** Whether servers publish the versions in which they store resources. */
export const publishesStorageVersions = ({registry}: ApiServer, gate: (name: string) => boolean): boolean =>
  gate('StorageVersionAPI') && gate('APIServerIdentity') && registry.serves(kinds.storageVersions);

/** Returns the hooks in the order in which their checks are reported. */
export const startHooks = (parts: StartParts, signals: StartSignals): StartHook[] => {
  const {server, client, clock, random, log, meter, gate, peers} = parts;
  const loops = serverLoops({client, clock, random, log, meter, gate, watchSeconds: watchSecondsInProcess}, signals.looping);
  const namespaces = repeated('start-system-namespaces-controller', () => ensureSystemNamespaces(client));
  const identity = identityHooks(parts, namespaces, signals);
  const identified = [identity[0] ?? namespaces];
  const versions = publishesStorageVersions(server, gate) ? [storageVersionHook(parts, identified, signals)] : [];
  const ranges = serviceRangeHooks(parts, versions);
  // The writes of other hooks would be refused until the versions are published.
  const afterVersions = (hooks: readonly StartHook[]) => hooks.map(hook => ({...hook, after: [...versions, ...(hook.after ?? [])]}));
  return [
    ...versions,
    ...beforeHooks(parts.options),
    namespaces,
    ...afterVersions([authenticationHook(parts, identified)]),
    ...identity,
    ...ranges,
    ...afterVersions([
      ...addressHooks(parts, [namespaces, ...ranges], signals),
      ...(peers?.hooks(loops) ?? []),
      ...electionHooks(parts, namespaces, signals),
      ...objectHooks(parts, namespaces, signals),
      ...extensionHooks(parts, loops, signals),
    ]),
  ];
};

/** A hook that is run again as it was run first. */
const repeated = (name: string, run: () => Promise<void>, after: readonly StartHook[] = []): StartHook => ({name, after, run, again: run});

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

/** The lease of this server. The server with an identity lease also deletes expired ones. */
const identityHooks = (
  {client, clock, random, log, host, store, naming, gate}: StartParts,
  namespaces: StartHook,
  {serving}: StartSignals,
): StartHook[] => {
  if (!gate('APIServerIdentity')) return [];
  const name = `start-${naming.component('apiserver')}-identity-lease`;
  const lease: StartHook = {
    name: `${name}-controller`,
    after: [namespaces],
    run: () => maintainIdentityLease({client, clock, random, log, host, isAlone: !store.shared}, serving),
  };
  return [lease, {name: `${name}-garbage-collector`, after: [lease], run: () => Promise.resolve()}];
};

const storageVersionHook = (
  {server, client, clock, log, host}: StartParts,
  after: readonly StartHook[],
  {serving}: StartSignals,
): StartHook => ({
  name: 'built-in-resources-storage-version-updater',
  after,
  run: () =>
    publishStorageVersions(
      {
        client,
        clock,
        log,
        server: serverIdentity(host),
        resources: storedResources(server.registry),
        updated: (resource, error) => server.storedVersions.updated(resource, error),
      },
      serving,
    ),
});

/** Publishes what clients authenticate with. */
const authenticationHook = ({client, options}: StartParts, after: readonly StartHook[]): StartHook =>
  repeated('start-cluster-authentication-info-controller', () => publishAuthenticationConfig(client, authenticationConfig(options)), after);

/**
 * The object of the configured ranges. Without such objects, as in older releases, addresses come from the configured
 * ranges themselves.
 */
const serviceRangeHooks = ({server, client, naming, clock, log, serviceRanges}: StartParts, after: readonly StartHook[]): StartHook[] =>
  server.registry.serves(kinds.serviceCIDRs)
    ? [
        repeated(
          `start-${naming.self}-service-cidr-controller`,
          () => ensureDefaultServiceCIDR({client, clock, log, ranges: serviceRanges}),
          after,
        ),
      ]
    : [];

/** The service of the API itself, and the repair of service addresses. */
const addressHooks = (
  {server, client, clock, log, selfService}: StartParts,
  after: readonly StartHook[],
  {serving}: StartSignals,
): StartHook[] => [
  {name: 'bootstrap-controller', after, run: () => selfService.maintain(serving), again: () => selfService.renew(serving)},
  {
    name: 'start-service-ip-repair-controllers',
    async run() {
      const {addresses, nodePorts: ports} = server.registry.settings.writes.pools;
      const repair = new ServiceRepair({client, clock, log, addresses, ports});
      // Without an object that is damaged it cannot know which addresses are held; those stay as they are.
      await repair.run().catch((error: unknown) => {
        if (!isUnreadable(error)) throw error;
        log.warn({err: error}, 'addresses and node ports of services could not be compared with the services');
      });
      repair.follow(serving);
    },
  },
];

/** Legacy tokens, priority classes and flow control. */
const objectHooks = (
  {server, client, store, clock, random, log}: StartParts,
  namespaces: StartHook,
  signals: StartSignals,
): StartHook[] => [
  repeated('start-legacy-token-tracking-controller', () => ensureLegacyTokenTracking(client, clock.now()), [namespaces]),
  repeated('scheduling/bootstrap-system-priority-classes', () => ensureSystemPriorityClasses(client)),
  ...(server.registry.serves(kinds.flowSchemas)
    ? [
        {
          name: 'priority-and-fairness-config-producer',
          run: () =>
            maintainFlowControl({client, clock, log, ...(store.shared ? {} : {revision: () => store.revision()})}, signals.serving),
          again: () => reconcileFlowControl(client),
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
const extensionHooks = (parts: StartParts, loops: Loops, signals: StartSignals): StartHook[] => {
  const {server, client, health, rbac, proxy, registrations, aggregation, naming} = parts;
  const {registry, custom} = server;
  return [
    ...(registry.serves(kinds.customResourceDefinitions)
      ? definitionHooks({instances: customInstances(registry, custom, parts.user), loops}, signals.looping)
      : []),
    ...(proxy.pair
      ? [{name: 'aggregator-reload-proxy-client-cert', run: async () => proxy.follow(() => registrations.renew(), signals.serving)}]
      : []),
    ...(aggregation && registry.serves(kinds.apiServices)
      ? apiServiceHooks({server, client, health, naming, aggregation, loops}, signals.looping)
      : []),
    ...(rbac ? [repeated('rbac/bootstrap-roles', () => ensureBootstrapPolicy(client, naming, bootstrapPolicy(naming, parts.gate)))] : []),
  ];
};
