// What the command line and the configuration of the agent's program are for the agent.

import {networkInterfaces, hostname} from 'node:os';
import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import type {AgentClients, AgentFlags, AgentIdentity} from '#src/platlet/agent/parts.js';
import {standaloneClient} from '#src/platlet/standalone/standalone.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {CriRuntimeParts} from '#src/platlet/cri/runtime.js';
import {containerLogsOf} from '#src/platlet/host/folders.js';
import {nodeAddresses, providedAddressesOf, type AddressParts, type NodeAddress} from '#src/platlet/node/addresses.js';
import {uninitializedTaint} from '#src/platlet/node/node-object.js';
import type {Allowance} from '#src/plane/component/connection.js';
import type {AgentInvocation} from './configuration.js';
import {defaultAddress} from './machine.js';

type Options = AgentInvocation['parsed']['options'];

/** Returns the host name that the name of the node is made from. */
export const hostOf = ({hostnameOverride}: Pick<Options, 'hostnameOverride'>): string => hostnameOverride.trim() || hostname();

/** Returns the flags that are not fields of the configuration file. */
export const agentFlagsOf = (options: Options, settings: Settings): AgentFlags => ({
  rootDir: options.rootDir,
  ...(options.runtimeCgroups ? {runtimeGroup: options.runtimeCgroups} : {}),
  containerLogs: containerLogsOf(settings.podLogsDir),
  allocatesThresholds: options.experimentalAllocatableIgnoreEviction,
  mounterPath: options.experimentalMounterPath,
  garbage: {
    minAgeMs: options.minimumContainerTtlDuration,
    maxPerContainer: options.maximumDeadContainersPerContainer,
    maxContainers: options.maximumDeadContainers,
  },
});

/** What the identity of a node is made from beside flags. */
export interface IdentitySources {
  readonly naming: Naming;
  readonly nodeName: string;
  /** The name of the machine. */
  readonly host: string;
  readonly version: string;
  readonly machine: AgentIdentity['machine'];
  readonly addresses: AddressSources;
}

/** Returns the identity of the node. */
export const identityOf = (options: Options, settings: Settings, sources: IdentitySources): AgentIdentity => {
  const {naming, nodeName, version, machine} = sources;
  const hasExternalCloud = isExternalCloud(options);
  const taints = settings.registerWithTaints as unknown as AgentIdentity['taints'];
  return {
    nodeName,
    hostname: nodeName,
    addresses: () => addressesOf(options, sources),
    labels: Object.fromEntries(options.nodeLabels),
    taints: hasExternalCloud ? [...taints, uninitializedTaint(naming)] : taints,
    hasExternalCloud,
    providedAddresses: hasExternalCloud ? providedAddressesOf(options.nodeIp) : undefined,
    machine,
    version,
  };
};

const isExternalCloud = ({cloudProvider}: Pick<Options, 'cloudProvider'>): boolean => cloudProvider === 'external';

/** Returns the container runtime that the configuration names, and how long it may take. */
export const runtimeOf = (settings: Settings): Pick<CriRuntimeParts, 'endpoint' | 'imageEndpoint' | 'requestTimeoutMs'> => ({
  endpoint: settings.containerRuntimeEndpoint,
  imageEndpoint: settings.imageServiceEndpoint || undefined,
  requestTimeoutMs: settings.runtimeRequestTimeout,
});

const unlimited = {qps: -1, burst: 0};

/** Returns the clients of a connection. Heartbeats and events do not wait behind other requests. */
export const clientsOf = (
  connection: {client(part: string, allowance?: Allowance): Client} | undefined,
  settings: Settings,
  naming: Naming,
): AgentClients => {
  if (!connection) {
    const client = standaloneClient(naming);
    return {main: client, events: client, heartbeats: client, isStandalone: true};
  }
  return {
    isStandalone: false,
    main: connection.client(''),
    events: connection.client('events', {rateLimit: {qps: settings.eventRecordQPS || 5, burst: settings.eventBurst || 10}}),
    heartbeats: connection.client('heartbeat', {
      rateLimit: unlimited,
      timeoutMs: Math.min(settings.nodeStatusUpdateFrequency, settings.nodeLeaseDurationSeconds * 1000),
    }),
  };
};

/** What of a machine its addresses are found by. */
export type AddressSources = Pick<AddressParts, 'interfaces' | 'defaultAddress' | 'resolve'>;

/** Returns the addresses of this machine. */
export const systemAddresses = (resolve: AddressParts['resolve']): AddressSources => ({
  interfaces: () => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address)),
  defaultAddress,
  resolve,
});

const addressesOf = (
  options: Options,
  {nodeName, host, addresses: {resolve, ...sources}}: IdentitySources,
): Promise<readonly NodeAddress[]> =>
  nodeAddresses({
    nodeName,
    hostname: nodeName,
    nodeIps: options.nodeIp,
    hasExternalCloud: isExternalCloud(options),
    ...sources,
    resolve: name => resolve(name === nodeName ? host : name),
  });
