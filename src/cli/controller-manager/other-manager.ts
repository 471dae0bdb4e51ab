import {kinds} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import {parseTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';

/**
 * A lease that was not renewed for this long belongs to a manager that has ended. Generous, because of possible clock
 * differences.
 */
const staleAfterMs = 10 * 60_000;

/**
 * The holder of the lock of the cluster's own manager, if that is another lock than this one's; undefined without a
 * holder.
 */
export const otherManagerOf = async (
  client: Client,
  clock: Clock,
  ours: {readonly namespace: string; readonly name: string} | undefined,
): Promise<string | undefined> => {
  const {systemNamespace: namespace} = client.naming;
  const name = client.naming.component('controller-manager');
  if (ours?.name === name && ours.namespace === namespace) return undefined;
  const {spec} = (await unlessMissing(client.resource(kinds.leases).get(name, {namespace}))) ?? {};
  const isAlive = clock.now() - (parseTime(spec?.renewTime) ?? 0) < staleAfterMs;
  return isAlive && spec?.holderIdentity ? spec.holderIdentity : undefined;
};
