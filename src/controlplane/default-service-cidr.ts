import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import {formatRange, parseRange} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';

type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;

export interface DefaultRanges {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** As the server was started with. */
  readonly ranges: readonly string[];
}

/** Makes the object of the ranges the server was started with, and says that it is ready. One with other ranges is left alone, and told of. */
export const ensureDefaultServiceCIDR = async ({client, clock, log, ranges}: DefaultRanges): Promise<void> => {
  const {self} = client.naming;
  const objects = client.resource(kinds.serviceCIDRs);
  const cidrs = ranges.map(range => formatRange(parseRange(range)!));
  const create = async (): Promise<ServiceCIDR> => {
    try {
      return await objects.create({metadata: {name: self}, spec: {cidrs}});
    } catch (error) {
      if (isAlreadyExists(error)) return objects.get(self);
      throw error;
    }
  };
  const found = await objects.get(self).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return create();
  });
  if (found.spec?.cidrs?.join() !== cidrs.join()) {
    log.warn({stored: found.spec?.cidrs, configured: cidrs}, 'the default ServiceCIDR has other ranges than --service-cluster-ip-range says');
  }
  if (found.metadata?.deletionTimestamp || found.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True')) return;
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: '',
    message: client.naming.inWords('Kubernetes default Service CIDR is ready'),
    lastTransitionTime: wireTime(clock.now()),
  };
  await objects.update({...found, status: {conditions: [...(found.status?.conditions ?? []).filter(({type}) => type !== 'Ready'), ready]}}, {subresource: 'status'});
};
