import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import type {Node} from '#src/api/types.js';
import {recordConditionEvents} from '#src/platlet/node/conditions.js';
import {leaseSeconds, renewLease} from '#src/platlet/node/lease.js';
import {nodeStatusPatch, statusDiffers} from '#src/platlet/node/status-patch.js';
import type {SimulationContext} from './context.js';
import {simulatedFailures, type Agent} from './agent.js';
import {nodeStatus, withDevices} from './node-object.js';

/** The renewal period of leases, and how often an unchanged status is reported. */
export const renewMs = 10_000;
export const reportMs = 300_000;

/** Renews the lease of the node, if it is due. */
export const renewNodeLease = async (context: SimulationContext, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const now = context.clock.monotonic();
  if (now < agent.renewAt) return;
  const {client, machine, lease} = agent;
  agent.lease = await renewLease({client, clock: context.clock, name: machine.name, seconds: leaseSeconds}, node, lease);
  agent.renewAt = now + context.renewMs;
};

/** Reports the volumes in use, if they have changed. */
export const reportVolumes = async (agent: Agent, {status}: Frozen<Node>): Promise<void> => {
  const volumesInUse = [...agent.volumesInUse.keys()].sort();
  if (sameJson(volumesInUse, [...(status?.volumesInUse ?? [])].sort())) return;
  await agent.client.resource(kinds.nodes).patch(agent.machine.name, 'merge', {status: {volumesInUse}}, {subresource: 'status'});
};

/** Reports the status of the node if it has changed or the last report is too old. */
export const reportStatus = async (context: SimulationContext, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const {naming, clock} = context;
  const now = clock.monotonic();
  const machine = withDevices(agent.machine, agent.devices.count());
  const next = nodeStatus(naming, machine, simulatedFailures(naming, agent, node), agent.images.list(), node.status, clock.now());
  if (now < agent.reportedAt + reportMs && !statusDiffers(node.status, next)) return;
  await agent.client
    .resource(kinds.nodes)
    .patch(agent.machine.name, 'strategic', {status: nodeStatusPatch(node.status, next)}, {subresource: 'status'});
  agent.reportedAt = now;
  recordConditionEvents({naming, events: agent.events, name: agent.machine.name}, node.status, next);
};
