import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {sameJson} from '#src/api/equal.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import type {Lease, Node} from '#src/api/types.js';
import type {SimulationContext} from './context.js';
import {nodeReference, simulatedFailures, type Agent} from './agent.js';
import {nodeStatus, pressureEvents, statusDiffers} from './node-object.js';

/** The lease duration, its renewal period, and how often an unchanged status is reported. */
export const leaseSeconds = 40;
export const renewMs = 10_000;
export const reportMs = 300_000;

const leaseOf = (
  {naming, clock}: SimulationContext,
  {machine: {name}}: Agent,
  {metadata}: Frozen<Node>,
  before?: Frozen<Lease>,
): Lease => ({
  metadata: {
    ...(before?.metadata as Lease['metadata']),
    name,
    namespace: naming.nodeLeaseNamespace,
    ownerReferences: [{apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: metadata?.uid ?? ''}],
  },
  spec: {
    ...(before?.spec as Lease['spec']),
    holderIdentity: name,
    leaseDurationSeconds: leaseSeconds,
    renewTime: wireMicroTime(clock.now()),
  },
});

const renewLease = async (context: SimulationContext, agent: Agent, node: Frozen<Node>): Promise<Lease> => {
  const leases = agent.client.resource(kinds.leases);
  const ignoring = (expected: (error: unknown) => boolean) => (error: unknown) => {
    if (!expected(error)) throw error;
  };
  const own =
    agent.lease &&
    (await leases.update(leaseOf(context, agent, node, agent.lease)).catch(ignoring(error => isConflict(error) || isNotFound(error))));
  if (own) return own;
  const made = await leases.create(leaseOf(context, agent, node)).catch(ignoring(isAlreadyExists));
  if (made) return made;
  const found = await leases.get(agent.machine.name, {namespace: context.naming.nodeLeaseNamespace});
  return leases.update(leaseOf(context, agent, node, found));
};

/** Renews the node's lease, if it is due. */
export const renew = async (context: SimulationContext, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const now = context.clock.monotonic();
  if (now < agent.renewAt) return;
  agent.lease = await renewLease(context, agent, node);
  agent.renewAt = now + renewMs;
};

type NodeStatus = NonNullable<Node['status']>;

const fields = ['capacity', 'allocatable', 'images', 'daemonEndpoints', 'nodeInfo', 'features'] as const;

/** Returns the merge patch from one map of amounts to another: removed keys are set to null. */
const amountsPatch = (
  before: Readonly<Record<string, string>> = {},
  next: Readonly<Record<string, string>> = {},
): Record<string, string | null> => ({
  ...Object.fromEntries(Object.keys(before).map(name => [name, null])),
  ...next,
});

/** Returns the strategic merge patch from one status to the next: the heartbeats of all conditions, and what changed. */
const statusPatchOf = (before: Frozen<NodeStatus> | undefined, next: NodeStatus): unknown => {
  const changed = fields.filter(field => !sameJson(before?.[field], next[field]));
  return {
    status: {
      ...Object.fromEntries(
        changed.map(field => [
          field,
          field === 'capacity' || field === 'allocatable' ? amountsPatch(before?.[field], next[field]) : next[field],
        ]),
      ),
      // A merge would join addresses of one type.
      ...(sameJson(before?.addresses, next.addresses) ? {} : {addresses: [...(next.addresses ?? []), {$patch: 'replace'}]}),
      conditions: next.conditions,
    },
  };
};

/** Records events for changes of the node's conditions. */
export const recordStatusEvents = (
  {naming}: SimulationContext,
  {machine: {name}, events}: Agent,
  before: Frozen<NodeStatus> | undefined,
  next: Frozen<NodeStatus>,
): void => {
  const reference = nodeReference(naming, name);
  for (const {type, status} of next.conditions ?? []) {
    const old = before?.conditions?.find(condition => condition.type === type)?.status;
    const pressure = pressureEvents.get(type)?.[status as 'True' | 'False'];
    const reason = pressure ?? (type === 'Ready' ? (status === 'True' ? 'NodeReady' : 'NodeNotReady') : undefined);
    if (reason && old !== status) events.normal(reference, reason, `Node ${name} status is now: ${reason}`);
  }
};

/** Reports which attachable volumes the node uses, if that changed. */
export const reportVolumes = async (agent: Agent, {status}: Frozen<Node>): Promise<void> => {
  const volumesInUse = [...agent.volumesInUse.keys()].sort();
  if (sameJson(volumesInUse, [...(status?.volumesInUse ?? [])].sort())) return;
  await agent.client.resource(kinds.nodes).patch(agent.machine.name, 'merge', {status: {volumesInUse}}, {subresource: 'status'});
};

/** Reports the node's status if it changed or the last report is too old. */
export const reportStatus = async (context: SimulationContext, agent: Agent, node: Frozen<Node>): Promise<void> => {
  const {naming, clock} = context;
  const now = clock.monotonic();
  const next = nodeStatus(naming, agent.machine, simulatedFailures(naming, node), agent.images.list(), node.status, clock.now());
  if (now < agent.reportedAt + reportMs && !statusDiffers(node.status, next)) return;
  await agent.client
    .resource(kinds.nodes)
    .patch(agent.machine.name, 'strategic', statusPatchOf(node.status, next), {subresource: 'status'});
  agent.reportedAt = now;
  recordStatusEvents(context, agent, node.status, next);
};
