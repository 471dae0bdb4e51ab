import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {sameJson} from '#src/api/equal.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import type {Lease, Node} from '#src/api/types.js';
import type {SimulationWorld} from '#src/simulation/world.js';
import {nodeReference, troublesOf, type Agent} from './agent.js';
import {nodeStatus, pressureEvents, statusDiffers} from './node-object.js';

/** How long a lease counts, how often it is renewed, and how often the status is told where nothing changed. */
export const leaseSeconds = 40;
export const renewMs = 10_000;
export const reportMs = 300_000;

const leaseOf = ({naming, clock}: SimulationWorld, {machine: {name}}: Agent, {metadata}: Frozen<Node>, before?: Frozen<Lease>): Lease => ({
  metadata: {
    ...(before?.metadata as Lease['metadata']),
    name,
    namespace: naming.nodeLeaseNamespace,
    ownerReferences: [{apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: metadata?.uid ?? ''}],
  },
  spec: {...(before?.spec as Lease['spec']), holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime: wireMicroTime(clock.now())},
});

const renewed = async (world: SimulationWorld, agent: Agent, node: Frozen<Node>): Promise<Lease> => {
  const leases = agent.client.resource(kinds.leases);
  const inCase = (expected: (error: unknown) => boolean) => (error: unknown) => {
    if (!expected(error)) throw error;
  };
  const own = agent.lease && (await leases.update(leaseOf(world, agent, node, agent.lease)).catch(inCase(error => isConflict(error) || isNotFound(error))));
  if (own) return own;
  const made = await leases.create(leaseOf(world, agent, node)).catch(inCase(isAlreadyExists));
  if (made) return made;
  const found = await leases.get(agent.machine.name, {namespace: world.naming.nodeLeaseNamespace});
  return leases.update(leaseOf(world, agent, node, found));
};

/** Says that the node lives, if it is time. */
export const renew = async (world: SimulationWorld, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const now = world.clock.monotonic();
  if (now < agent.renewAt) return;
  agent.lease = await renewed(world, agent, node);
  agent.renewAt = now + renewMs;
};

type NodeStatus = NonNullable<Node['status']>;

const fields = ['capacity', 'allocatable', 'images', 'daemonEndpoints', 'nodeInfo', 'features'] as const;

/** What a merge takes to make one map of amounts another: what is gone is to be said. */
const amounts = (before: Readonly<Record<string, string>> = {}, next: Readonly<Record<string, string>> = {}): Record<string, string | null> => ({
  ...Object.fromEntries(Object.keys(before).map(name => [name, null])),
  ...next,
});

/** The strategic merge patch from one status to the next: the heartbeats of all conditions, and what changed. */
const patchOf = (before: Frozen<NodeStatus> | undefined, next: NodeStatus): unknown => {
  const changed = fields.filter(field => !sameJson(before?.[field], next[field]));
  return {
    status: {
      ...Object.fromEntries(changed.map(field => [field, field === 'capacity' || field === 'allocatable' ? amounts(before?.[field], next[field]) : next[field]])),
      // Merging would join addresses of one type.
      ...(sameJson(before?.addresses, next.addresses) ? {} : {addresses: [...(next.addresses ?? []), {$patch: 'replace'}]}),
      conditions: next.conditions,
    },
  };
};

/** What people are told of a change of the node's state. */
export const tellChanges = ({naming}: SimulationWorld, {machine: {name}, events}: Agent, before: Frozen<NodeStatus> | undefined, next: Frozen<NodeStatus>): void => {
  const about = nodeReference(naming, name);
  for (const {type, status} of next.conditions ?? []) {
    const old = before?.conditions?.find(condition => condition.type === type)?.status;
    const pressure = pressureEvents.get(type)?.[status as 'True' | 'False'];
    const reason = pressure ?? (type === 'Ready' ? (status === 'True' ? 'NodeReady' : 'NodeNotReady') : undefined);
    if (reason && old !== status) events.normal(about, reason, `Node ${name} status is now: ${reason}`);
  }
};

/** Tells the node's status if it changed, or if it was not told for long. */
export const report = async (world: SimulationWorld, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const {naming, clock} = world;
  const now = clock.monotonic();
  const next = nodeStatus(naming, agent.machine, troublesOf(naming, node), agent.images.list(), node.status, clock.now());
  if (now < agent.reportedAt + reportMs && !statusDiffers(node.status, next)) return;
  await agent.client.resource(kinds.nodes).patch(agent.machine.name, 'strategic', patchOf(node.status, next), {subresource: 'status'});
  agent.reportedAt = now;
  tellChanges(world, agent, node.status, next);
};
