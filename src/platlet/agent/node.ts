// The fourth stage of an agent: its Node, not yet registered.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {bootTimeOf, StartupTimes} from '#src/platlet/metrics/startup.js';
import {declaredFeatures} from '#src/platlet/node/declared-features.js';
import {NodeAddresses} from '#src/platlet/node/node-addresses.js';
import {reservationOf} from '#src/platlet/node/capacity.js';
import {NodeCondition} from '#src/platlet/node/node-condition.js';
import {NodeImages} from '#src/platlet/node/node-images.js';
import {NodeLease} from '#src/platlet/node/node-lease.js';
import {NodeLifecycle} from '#src/platlet/node/node-lifecycle.js';
import {PodRanges} from '#src/platlet/node/pod-ranges.js';
import {RuntimeHealth} from '#src/platlet/node/runtime-health.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {AgentNode, nodeIdentity} from './agent-node.js';
import type {Cluster} from './cluster.js';
import type {NodeStorage} from './node-storage.js';
import type {AgentParts} from './parts.js';

/** The Node of an agent and its health. */
export interface NodeStage {
  readonly node: AgentNode;
  readonly lifecycle: NodeLifecycle;
  readonly lease: NodeLease;
  readonly health: RuntimeHealth;
  readonly addresses: NodeAddresses;
  readonly condition: NodeCondition;
  readonly ranges: PodRanges;
  /** Returns the Node from the API server, or the one that would be registered: pods may run before registration. */
  known(): Frozen<Node> | undefined;
  /** Returns the allocatable resources of the node. */
  allocatable(): Readonly<Record<string, string>>;
  /** Reads the Node from the API server. */
  readonly fresh: (() => Promise<Frozen<Node>>) | undefined;
}

/** The results of the earlier stages. */
interface Before {
  readonly cluster: Cluster;
  readonly directory: PodDirectory;
  readonly storage: Pick<NodeStorage, 'problem' | 'inUse'>;
  readonly managers: ResourceManagers;
}

/** Creates the Node of an agent. */
export const nodeOf = async (
  parts: AgentParts,
  {cluster, directory: pods, storage, managers}: Before,
  signal: AbortSignal,
): Promise<NodeStage> => {
  const {identity, settings, flags, clients, runtime, runtimeVersion, gate, naming, files, clock, random, log, metrics} = parts;
  const {events, registered, api} = cluster;
  const startup = new StartupTimes(clock, metrics, bootTimeOf(String((await files.read('/proc/stat')) ?? '')));
  const addresses = new NodeAddresses({
    find: () => identity.addresses(),
    registered,
    keepsShown: identity.hasExternalCloud ?? false,
    log,
  });
  const health = new RuntimeHealth({runtime, clock, log, signal});
  const condition = new NodeCondition();
  const ranges = new PodRanges(runtime, log);
  const node = new AgentNode({
    naming,
    clock,
    identity,
    configuration: {settings, reservation: reservationOf(settings, !flags.allocatesThresholds)},
    addresses,
    runtime: {version: runtimeVersion, health, images: new NodeImages({runtime, clock, log})},
    reported: {condition, storage, declaredFeatures: declaredFeatures(settings, gate), devices: managers.devices.manager},
    pods,
  });
  const lifecycle = new NodeLifecycle({
    client: clients.heartbeats,
    events,
    clock,
    random,
    log,
    signal,
    node: {
      identity: nodeIdentity(identity, settings),
      registered,
      status: before => node.status(before),
      // A runtime that is ready lets plugins register, and that leaves a socket in their folder.
      resetsExtended: () => managers.devices.isNew && health.runtimeProblems.length > 0,
      looksIfForbidden: !gate('PlatletRegistrationGetOnExistsOnly'),
      useRanges: given => ranges.update(given),
      reached: stage => startup.reached(stage),
    },
    periods: {updateMs: settings.nodeStatusUpdateFrequency, reportMs: settings.nodeStatusReportFrequency},
  });
  const lease = new NodeLease({
    client: clients.heartbeats,
    clock,
    random,
    log,
    signal,
    name: identity.nodeName,
    seconds: settings.nodeLeaseDurationSeconds,
    registered,
  });
  return {
    node,
    lifecycle,
    lease,
    health,
    addresses,
    condition,
    ranges,
    known: () => registered() ?? node.local,
    allocatable: () => registered()?.status?.allocatable ?? node.allocatable,
    fresh: api && (() => api.client.resource(kinds.nodes).get(identity.nodeName)),
  };
};

/**
 * Registers the node in the background if `registers`, and reports its status and renews its Lease until the agent
 * stops.
 */
export const followNode = ({lifecycle, lease}: NodeStage, registers: boolean, clock: Clock, signal: AbortSignal): void => {
  lease.follow();
  if (!registers) {
    lifecycle.skipRegistration();
    lifecycle.followStatus();
    return;
  }
  lifecycle.register().then(
    () => lifecycle.followStatus(),
    (error: unknown) => {
      if (!signal.aborted) clock.unhandled(error);
    },
  );
};
