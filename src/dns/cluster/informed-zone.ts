import type {Frozen} from '#src/api/key.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {isResync, type Change} from '#informers/change.js';
import type {Informers} from '#informers/factory.js';
import type {DnsMetrics} from '#src/dns/metrics/metrics.js';
import type {WireName} from '#src/dns/wire/names.js';
import {Cluster, endpointSlices, isHeadless, namespaces, pods, services, sliceKeys, type EndpointSlice, type SliceKeys} from './cluster.js';
import type {PodMode} from '#src/dns/settings/settings.js';
import {ClusterZone, type ServedZone} from './zone.js';

export interface InformedZoneParts {
  readonly informers: Informers;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly metrics: DnsMetrics;
  readonly domain: WireName;
  readonly podMode: PodMode;
  readonly ttlSeconds: number;
  nameservers(): readonly string[];
  /** How often those have changed. */
  nameserverChanges(): number;
}

/** The zone of a cluster that informers follow, until it is disposed of. */
export interface InformedZone extends Disposable {
  readonly zone: ServedZone;
}

/** Follows a cluster, and serves the zone of its domain. */
export const informedZone = ({
  informers,
  naming,
  clock,
  metrics,
  domain,
  podMode,
  ttlSeconds,
  nameservers,
  nameserverChanges,
}: InformedZoneParts): InformedZone => {
  const keys = sliceKeys(naming);
  const [serviceInformer, sliceInformer] = [informers.informer(services), informers.informer(endpointSlices)];
  const namespaceInformer = informers.informer(namespaces);
  const podInformer = podMode === 'verified' ? informers.informer(pods) : undefined;
  const cluster = new Cluster({
    services: serviceInformer.lister,
    endpointSlices: sliceInformer.lister,
    namespaces: namespaceInformer.lister,
    pods: podInformer?.lister,
    keys,
  });
  const changed = {second: Math.floor(clock.now() / 1000), times: 0};
  const onChange = (change: Pick<Change, 'type'>) => {
    if (isResync(change as Change)) return;
    changed.second = Math.floor(clock.now() / 1000);
    changed.times++;
  };
  const subscriptions = [
    serviceInformer.listen(onChange),
    podInformer?.listen(onChange),
    namespaceInformer.listen(() => changed.times++),
    sliceInformer.listen(change => {
      onChange(change);
      recordLatency(change, cluster, {keys, clock, metrics});
    }),
  ];
  const zone = new ClusterZone({domain, cluster, podMode, ttl: ttlSeconds, nameservers, serial: () => changed.second});
  const all = [serviceInformer, sliceInformer, namespaceInformer, ...(podInformer ? [podInformer] : [])];
  return {
    zone: {
      domain: zone.domain,
      resolve: question => zone.resolve(question),
      authority: name => zone.authority(name),
      pointers: (name, ip) => zone.pointers(name, ip),
      isSynced: () => all.every(({isSynced}) => isSynced),
      version: () => changed.times + nameserverChanges(),
    },
    [Symbol.dispose]() {
      for (const subscription of subscriptions) subscription?.[Symbol.dispose]();
    },
  };
};

/** Records how long ago the pods or the service changed for which a slice was written. */
const recordLatency = (
  change: Change<EndpointSlice>,
  cluster: Cluster,
  {keys, clock, metrics}: {readonly keys: SliceKeys; readonly clock: Clock; readonly metrics: DnsMetrics},
): void => {
  if (change.type === 'deleted' || (change.type === 'added' && change.initial) || isResync(change as unknown as Change)) return;
  const {namespace = '', annotations, labels} = (change.object as Frozen<KubeObject>).metadata ?? {};
  const triggered = parseTime(annotations?.[keys.triggerTime]);
  const service = cluster.service(namespace, labels?.[keys.service] ?? '');
  if (triggered !== undefined && service) metrics.programmed(isHeadless(service), Math.max(0, clock.now() - triggered) / 1000);
};
