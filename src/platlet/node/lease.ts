// The Lease by which a node reports that its agent is alive.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import type {Lease, Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';

/** The default lease duration of a node. */
export const leaseSeconds = 40;

export interface LeaseParts {
  readonly client: Client;
  readonly clock: Clock;
  /** The name of the node and of its Lease. */
  readonly name: string;
  readonly seconds: number;
}

const leaseOf = ({client: {naming}, clock, name, seconds}: LeaseParts, node: Frozen<Node> | undefined, before?: Frozen<Lease>): Lease => ({
  metadata: {
    ...(before?.metadata as Lease['metadata']),
    name,
    namespace: naming.nodeLeaseNamespace,
    ...(node
      ? {ownerReferences: [{apiVersion: naming.apiVersion('', 'v1'), kind: kinds.nodes.kind, name, uid: node.metadata?.uid ?? ''}]}
      : {}),
  },
  spec: {
    ...(before?.spec as Lease['spec']),
    holderIdentity: name,
    leaseDurationSeconds: seconds,
    renewTime: wireMicroTime(clock.now()),
  },
});

const ignoring = (expected: (error: unknown) => boolean) => (error: unknown) => {
  if (!expected(error)) throw error;
};

/** Renews a Lease, or creates it, and returns it. After a conflict it is read again. */
export const renewLease = async (parts: LeaseParts, node: Frozen<Node> | undefined, known: Frozen<Lease> | undefined): Promise<Lease> => {
  const {client, name} = parts;
  const leases = client.resource(kinds.leases);
  const own = known && (await leases.update(leaseOf(parts, node, known)).catch(ignoring(error => isConflict(error) || isNotFound(error))));
  if (own) return own;
  const made = await leases.create(leaseOf(parts, node)).catch(ignoring(isAlreadyExists));
  if (made) return made;
  const found = await leases.get(name, {namespace: client.naming.nodeLeaseNamespace});
  return leases.update(leaseOf(parts, node, found));
};
