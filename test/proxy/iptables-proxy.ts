// A proxier in the mode iptables, on a kernel that keeps what it was told.

import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {noCounters} from '#src/proxy/iptables/packet-counters.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Iptables} from '#src/proxy/iptables/iptables.js';
import {IptablesMode, type IptablesModeParts} from '#src/proxy/iptables/iptables-mode.js';
import {iptablesMetrics} from '#src/proxy/iptables/metrics.js';
import {proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import type {RuleSettings} from '#src/proxy/mode/settings.js';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {Proxier} from '#src/proxy/sync/proxier.js';
import {FakeIptables} from './fake-iptables.js';
import {nodeName} from './objects.js';

export const iptablesSettings: RuleSettings = {
  nodeName,
  nodeIps: {IPv4: '192.168.0.2', IPv6: '2001:db8::1'},
  masqueradeAll: false,
  masqueradeBit: 14,
  localDetection: {by: 'ranges', ranges: {IPv4: '10.0.0.0/8', IPv6: 'fd00:10::/64'}},
  nodePortAddresses: [],
};

export interface FakeIptablesProxyOptions {
  readonly family?: IpFamily;
  readonly settings?: Partial<RuleSettings>;
  readonly base?: Partial<IptablesModeParts['base']>;
  readonly counters?: IptablesModeParts['counters'];
  readonly meter?: Meter;
}

/** A proxier that has started and knows of nothing yet. */
export class FakeIptablesProxy {
  readonly kernel = new FakeIptables();
  readonly clock = new VirtualClock();
  readonly mode: IptablesMode;
  readonly proxier: Proxier;

  constructor({family = 'IPv4', settings = {}, base = {}, counters = noCounters, meter = noMeter}: FakeIptablesProxyOptions = {}) {
    this.kernel.localAddresses = ['127.0.0.1', '192.168.0.2', '::1', '2001:db8::1'];
    this.mode = new IptablesMode({
      iptables: new Iptables(family, this.kernel),
      settings: {...iptablesSettings, ...settings},
      base: {hasRandomFully: true, localhostNodePorts: family === 'IPv4', conntrackTcpLiberal: false, ...base},
      counters,
      addresses: () => this.kernel.addresses(),
      syncPeriodMs: 30_000,
      clock: this.clock,
      log: noLog,
      metrics: iptablesMetrics(meter, naming('kubernetes')),
    });
    this.proxier = new Proxier({
      mode: this.mode,
      nodeName,
      periods: {minSyncPeriodMs: 1000, syncPeriodMs: 30_000},
      hooks: noHooks,
      naming: naming('kubernetes'),
      clock: this.clock,
      log: noLog,
      metrics: proxyMetrics(meter),
    });
    this.proxier.start();
  }

  /** Adds the first objects and syncs. */
  async begin(services: readonly Service[], slices: readonly EndpointSlice[]): Promise<this> {
    for (const each of services) this.proxier.serviceChanged(undefined, each);
    for (const each of slices) this.proxier.sliceChanged(each, false);
    this.proxier.known('services');
    this.proxier.known('endpointSlices');
    await this.clock.advance(0);
    return this;
  }

  /** Lets pass what has to lie between two syncs, and a little more. */
  async sync(): Promise<void> {
    await this.clock.advance(1100);
  }

  /** The rules of a chain, with the names of the chains of service ports and endpoints left as they are. */
  rules(table: 'nat' | 'filter', chain: string): readonly string[] | undefined {
    return this.kernel.rules(table, chain);
  }

  /** What the last `iptables-restore` read, by lines. */
  get last(): readonly string[] {
    return (this.kernel.restored.at(-1) ?? '').split('\n');
  }
}
