// A proxier in the mode nftables, on a kernel that keeps what it was told.

import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {nftablesMetrics, proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks, type SyncHooks} from '#src/proxy/mode/hooks.js';
import type {RuleSettings} from '#src/proxy/mode/settings.js';
import {NftablesMode} from '#src/proxy/nftables/nftables-mode.js';
import type {EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {Service} from '#src/proxy/state/service-port.js';
import {Proxier} from '#src/proxy/sync/proxier.js';
import {FakeNft} from './fake-nft.js';
import {nodeName} from './objects.js';

export const ruleSettings: RuleSettings = {
  nodeName,
  nodeIps: {IPv4: '192.168.0.2', IPv6: '2001:db8::1'},
  masqueradeAll: false,
  masqueradeBit: 14,
  localDetection: {by: 'ranges', ranges: {IPv4: '10.0.0.0/8', IPv6: 'fd00:10::/64'}},
  nodePortAddresses: ['192.168.0.0/24', '2001:db8::/64'],
};

export const serviceCidrs = ['172.30.0.0/16', 'fd00:10:96::/112'];

export interface FakeProxyOptions {
  readonly family?: IpFamily;
  readonly settings?: Partial<RuleSettings>;
  readonly hooks?: Partial<SyncHooks>;
  readonly meter?: Meter;
  readonly kernel?: FakeNft;
}

/** A proxier that has started and knows of nothing yet. */
export class FakeProxy {
  readonly kernel: FakeNft;
  readonly clock = new VirtualClock();
  readonly proxier: Proxier;

  constructor({family = 'IPv4', settings = {}, hooks = {}, meter = noMeter, kernel = new FakeNft()}: FakeProxyOptions = {}) {
    this.kernel = kernel;
    kernel.localAddresses = ['127.0.0.1', '192.168.0.2', '192.168.1.2', '2001:db8::1', '2001:db8:1::2'];
    const mode = new NftablesMode({
      family,
      settings: {...ruleSettings, ...settings},
      kernel,
      clock: this.clock,
      log: noLog,
      metrics: nftablesMetrics(meter),
    });
    this.proxier = new Proxier({
      mode,
      nodeName,
      periods: {minSyncPeriodMs: 1000, syncPeriodMs: 30_000},
      hooks: {...noHooks, ...hooks},
      naming: naming('kubernetes'),
      clock: this.clock,
      log: noLog,
      metrics: proxyMetrics(meter),
    });
    this.proxier.serviceCidrsChanged(serviceCidrs);
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

  /** The commands of the last script. */
  get last(): readonly string[] {
    return this.kernel.scripts.at(-1) ?? [];
  }
}
