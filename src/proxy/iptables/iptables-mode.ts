// The mode iptables: chains in the tables nat and filter, written by `iptables-restore`. A sync writes the shared
// chains, and the chains of those services that have changed.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {keyText} from '#src/api/key.js';
import type {ProxyChange, ProxyMode, ProxyState, SyncResult} from '#src/proxy/mode/mode.js';
import type {RuleSettings} from '#src/proxy/mode/settings.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {NodePortAddresses} from '#src/proxy/state/node-port-addresses.js';
import {
  ensureJumps,
  forwardRules,
  localFirewallRules,
  localTraffic,
  natRules,
  nodePortRules,
  sharedChains,
  type BaseSettings,
} from './base-rules.js';
import type {Iptables} from './iptables.js';
import type {IptablesMetrics} from './metrics.js';
import {chainLine, chains, isPortChain} from './names.js';
import {counterNames, type PacketCounters} from './packet-counters.js';
import {chainLines, portRules, type PortRules, type RuleContext} from './port-rules.js';

/** With more endpoints than this, rules go without comments and chains that are not used are deleted less often. */
export const largeClusterEndpoints = 1000;

export interface IptablesModeParts {
  readonly iptables: Iptables;
  readonly settings: RuleSettings;
  /** What the kernel and the programs can do, and are to. */
  readonly base: Omit<BaseSettings, 'family' | 'masqueradeBit' | 'nodePortIps' | 'countsInvalid'>;
  readonly counters: Pick<PacketCounters, 'ensure'>;
  /** The addresses of the machine. */
  addresses(): readonly string[];
  readonly syncPeriodMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: IptablesMetrics;
}

/** What one sync writes. */
interface Written {
  readonly rules: ReadonlyMap<string, PortRules>;
  /** The keys of the ports whose chains are written. */
  readonly ports: readonly string[];
  readonly staleChains: readonly string[];
}

/** Routes the services of a family. */
export class IptablesMode implements ProxyMode {
  readonly family: IpFamily;
  readonly #parts: IptablesModeParts;
  readonly #nodePortAddresses: NodePortAddresses;
  readonly #rules = new Map<string, PortRules>();
  #isFlushed = false;
  #cleanedAt = Number.NEGATIVE_INFINITY;
  /** The counters that rules may use. */
  #counters: ReadonlySet<string> = new Set();

  constructor(parts: IptablesModeParts) {
    const {iptables, settings} = parts;
    this.family = iptables.family;
    this.#parts = parts;
    this.#nodePortAddresses = new NodePortAddresses(this.family, settings.nodePortAddresses);
  }

  /** Takes note that someone flushed the tables: the next sync writes everything. */
  flushed(): void {
    this.#isFlushed = true;
  }

  async sync(state: ProxyState, change: ProxyChange): Promise<SyncResult> {
    const {iptables, counters, log, metrics} = this.#parts;
    const isFull = change.isFull || this.#isFlushed;
    log.v(2).info({ipFamily: this.family, fullSync: isFull}, 'syncing the rules of iptables');
    if (isFull) {
      await ensureJumps(iptables);
      this.#counters = await counters.ensure();
    }
    const isLarge = endpointCount(state) > largeClusterEndpoints;
    const ports = this.#refresh(state, {...change, isFull}, isLarge);
    const written = {rules: this.#rules, ports, staleChains: await this.#staleChains(isLarge)};
    const base = this.#baseSettings();
    try {
      await iptables.restore(restoreInput(base, written));
    } catch (error) {
      log.error({err: error, ipFamily: this.family}, 'failed to execute iptables-restore');
      const labels = {ip_family: this.family};
      metrics.restoreFailures.add(labels);
      if (!isFull) metrics.partialRestoreFailures.add(labels);
      throw error;
    }
    this.#isFlushed = false;
    this.#count(base, written);
    const lacking = (policy: 'internal' | 'external'): number =>
      [...this.#rules.values()].filter(({lacksLocal}) => lacksLocal[policy]).length;
    return {withoutLocalEndpoints: {internal: lacking('internal'), external: lacking('external')}, wasFull: isFull};
  }

  /** Makes the rules of the ports of services that have changed again. Returns the keys of these ports. */
  #refresh({services, endpoints, zone}: ProxyState, change: ProxyChange, isLarge: boolean): readonly string[] {
    for (const key of this.#rules.keys()) if (!services.has(key)) this.#rules.delete(key);
    const {settings, base} = this.#parts;
    const {nodeName, nodeIps, masqueradeAll, localDetection} = settings;
    const context: RuleContext = {
      node: {nodeName, zone},
      nodeIp: nodeIps[this.family],
      masqueradeAll,
      localTraffic: localTraffic(localDetection, this.family),
      isLarge,
      countsLocalhost: base.localhostNodePorts && this.#counters.has(counterNames.localhost),
    };
    const changed = [...services].filter(([, {name}]) => change.isFull || change.services.has(keyText(name)));
    for (const [key, port] of changed) this.#rules.set(key, portRules(port, endpoints.get(key) ?? [], context));
    return changed.map(([key]) => key);
  }

  /** The chains in the kernel that belong to no service any more. Reading them takes long where there are many. */
  async #staleChains(isLarge: boolean): Promise<readonly string[]> {
    const {iptables, clock, syncPeriodMs, log} = this.#parts;
    if (isLarge && clock.monotonic() - this.#cleanedAt <= syncPeriodMs) return [];
    try {
      const existing = await iptables.chainsOf('nat');
      this.#cleanedAt = clock.monotonic();
      const active = new Set([...this.#rules.values()].flatMap(({chains: own}) => own));
      return existing.filter(chain => isPortChain(chain) && !active.has(chain));
    } catch (error) {
      log.error({err: error, ipFamily: this.family}, 'failed to execute iptables-save: stale chains will not be deleted');
      return [];
    }
  }

  #baseSettings(): BaseSettings {
    const {base, settings, addresses} = this.#parts;
    const nodePortIps = this.#nodePortAddresses.matchesAll ? undefined : this.#nodePortAddresses.of(addresses());
    const countsInvalid = this.#counters.has(counterNames.invalid);
    return {...base, family: this.family, masqueradeBit: settings.masqueradeBit, nodePortIps, countsInvalid};
  }

  #count(base: BaseSettings, {rules, ports}: Written): void {
    const {metrics} = this.#parts;
    const all = [...rules.values()];
    const sum = (list: readonly PortRules[], of: (each: PortRules) => number) => list.reduce((total, each) => total + of(each), 0);
    const shared = {
      filter: localFirewallRules(base).length + forwardRules(base).length + sum(all, ({filter}) => filter.length),
      nat: natRules(base).length + nodePortRules(base).length + sum(all, ({nat}) => nat.length),
    };
    const labels = (table: string) => ({table, ip_family: this.family});
    const own = (list: readonly PortRules[]) => sum(list, ({chainRules}) => chainRules.length);
    metrics.rules.set(shared.filter, labels('filter'));
    metrics.rulesOfLastSync.set(shared.filter, labels('filter'));
    metrics.rules.set(shared.nat + own(all), labels('nat'));
    metrics.rulesOfLastSync.set(shared.nat + own(ports.map(key => rules.get(key)!)), labels('nat'));
  }
}

const endpointCount = ({services, endpoints}: ProxyState): number =>
  [...services.keys()].reduce((count, key) => count + (endpoints.get(key)?.length ?? 0), 0);

/** What `iptables-restore` reads. */
const restoreInput = (base: BaseSettings, {rules, ports, staleChains}: Written): string => {
  const all = [...rules.values()];
  const changed = ports.map(key => rules.get(key)!);
  const local = localFirewallRules(base);
  const lines = [
    '*filter',
    ...sharedChains.filter.map(chainLine),
    ...(local.length > 0 ? [chainLine(chains.localFirewall)] : []),
    ...local,
    ...all.flatMap(({filter}) => filter),
    ...forwardRules(base),
    'COMMIT',
    '*nat',
    ...sharedChains.nat.map(chainLine),
    ...changed.flatMap(chainLines),
    ...staleChains.map(chainLine),
    ...natRules(base),
    ...all.flatMap(({nat}) => nat),
    ...changed.flatMap(({chainRules}) => chainRules),
    ...staleChains.map(chain => `-X ${chain}`),
    ...nodePortRules(base),
    'COMMIT',
  ];
  return `${lines.join('\n')}\n`;
};
