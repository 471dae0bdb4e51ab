// Starts a proxy: its informers, and a proxier for each family.

import type {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {SyncHooks} from '#src/proxy/mode/hooks.js';
import type {CreateMode} from '#src/proxy/mode/mode.js';
import type {SyncPeriods} from '#src/proxy/mode/settings.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {ProxyNode} from '#src/proxy/node/proxy-node.js';
import type {ResolvedSettings} from '#src/proxy/node/rule-settings.js';
import {Proxier} from '#src/proxy/sync/proxier.js';

export interface StartProxyParts {
  /** The informers, which the caller starts; `ProxyNode` uses them as well. */
  readonly informers: InformerFactory;
  readonly node: ProxyNode;
  readonly settings: ResolvedSettings;
  readonly periods: SyncPeriods;
  readonly createMode: CreateMode;
  readonly hooks: SyncHooks;
  /** The ranges of the node's pods, on which the rules depend, have changed: the proxy is to be started again. */
  podRangesChanged(): void;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ProxyMetrics;
  readonly signal: AbortSignal;
}

/** A proxy that runs. */
export interface RunningProxy {
  /** Resolves once the rules of all families were written for the first time. */
  readonly synced: Promise<void>;
  /** Asks for a sync of all families. */
  request(): void;
  /** Stops following changes, and resolves once the present syncs have ended. The rules stay. */
  stop(): Promise<void>;
}

/** Leaves out what another proxy is for, and what has no address of its own. */
const selectors = {
  label: (naming: Naming) => `!${naming.subKey('service', 'service-proxy-name')},!${naming.subKey('service', 'headless')}`,
  field: 'spec.clusterIP!=None',
};

/**
 * Resolves to whether the first objects are known: waits through refusals of the server, which may end, until stopped.
 */
const whenKnown = async (informer: Pick<SharedInformer, 'whenSynced'>, signal: AbortSignal): Promise<boolean> => {
  while (!signal.aborted) {
    const isKnown = await informer.whenSynced(signal).then(
      () => true,
      () => false,
    );
    if (isKnown) return true;
  }
  return false;
};

/** Follows the objects that the rules depend on, until disposed of. */
const follow = ({informers, node, podRangesChanged, signal}: StartProxyParts, proxiers: readonly Proxier[]): Disposable => {
  const each = (act: (proxier: Proxier) => void): void => proxiers.forEach(act);
  const services = informers.informer({kind: kinds.services, labelSelector: selectors.label, fieldSelector: selectors.field});
  const slices = informers.informer({kind: kinds.endpointSlices, labelSelector: selectors.label});
  const ranges = informers.informer(kinds.serviceCIDRs);
  const listening = [
    services.listen(change => {
      const before = change.type === 'updated' ? change.old : change.type === 'deleted' ? change.object : undefined;
      each(proxier => proxier.serviceChanged(before, change.type === 'deleted' ? undefined : change.object));
    }),
    slices.listen(({type, object}) => each(proxier => proxier.sliceChanged(object, type === 'deleted'))),
    ranges.listen(() => {
      const cidrs = ranges.lister.list().flatMap(({spec}) => spec?.cidrs ?? []);
      each(proxier => proxier.serviceCidrsChanged([...new Set(cidrs)].sort()));
    }),
    node.follow({zoneChanged: zone => each(proxier => proxier.zoneChanged(zone)), podRangesChanged}),
  ];
  void whenKnown(services, signal).then(isKnown => isKnown && each(proxier => proxier.known('services')));
  void whenKnown(slices, signal).then(isKnown => isKnown && each(proxier => proxier.known('endpointSlices')));
  return {[Symbol.dispose]: () => listening.forEach(each => each[Symbol.dispose]())};
};

/** Starts a proxy on a node that was opened. */
export const startProxy = (parts: StartProxyParts): RunningProxy => {
  const {settings, periods, createMode, hooks, naming, clock, log, metrics} = parts;
  const {families, rules} = settings;
  const proxiers = families.map(
    family => new Proxier({mode: createMode(family, rules), nodeName: rules.nodeName, periods, hooks, naming, clock, log, metrics}),
  );
  const following = follow(parts, proxiers);
  for (const proxier of proxiers) proxier.start();
  return {
    synced: Promise.all(proxiers.map(proxier => proxier.synced)).then(() => {}),
    request() {
      for (const proxier of proxiers) proxier.request();
    },
    async stop() {
      following[Symbol.dispose]();
      await Promise.all(proxiers.map(proxier => proxier.stop()));
    },
  };
};
