import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import {formatRange, parseRange} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from './ensure.js';

type ServiceCIDR = ObjectOf<typeof kinds.serviceCIDRs>;

export interface DefaultRanges {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The configured ranges. */
  readonly ranges: readonly string[];
}

const isReady = ({metadata, status}: ServiceCIDR): boolean =>
  Boolean(metadata?.deletionTimestamp) || Boolean(status?.conditions?.some(({type, status: is}) => type === 'Ready' && is === 'True'));

/**
 * Creates the ServiceCIDR of the configured ranges, and sets its ready condition. One with other ranges is not changed,
 * and logged.
 */
export const ensureDefaultServiceCIDR = async ({client, clock, log, ranges}: DefaultRanges): Promise<void> => {
  const name = client.naming.self;
  const objects = client.resource(kinds.serviceCIDRs);
  const cidrs = ranges.map(range => formatRange(parseRange(range)!));
  await ensureObject(objects, {name}, found => {
    if (!found) return {create: {metadata: {name}, spec: {cidrs}}};
    if (found.spec?.cidrs?.join() !== cidrs.join())
      log.warn(
        {stored: found.spec?.cidrs, configured: cidrs},
        'the default ServiceCIDR has other ranges than --service-cluster-ip-range says',
      );
    return undefined;
  });
  await ensureObject(objects, {name}, found => {
    if (!found || isReady(found)) return undefined;
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: '',
      message: client.naming.inWords('Kubernetes default Service CIDR is ready'),
      lastTransitionTime: wireTime(clock.now()),
    };
    return {
      update: {...found, status: {conditions: [...(found.status?.conditions ?? []).filter(({type}) => type !== 'Ready'), ready]}},
      subresource: 'status',
    };
  });
};
