// The mode nftables, in one family: rules in a table of its own.

import {proxyTable} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {NftablesMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {ProxyChange, ProxyMode, ProxyState, SyncResult} from '#src/proxy/mode/mode.js';
import type {RuleSettings} from '#src/proxy/mode/settings.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {isLoopback} from '#src/base/ip-address.js';
import {NodePortAddresses} from '#src/proxy/state/node-port-addresses.js';
import {reachableEndpoints} from '#src/proxy/topology/reachable.js';
import {baseLines} from './base-rules.js';
import {familyWords, localTraffic, markOf} from './expressions.js';
import {Nft, type ExistingTable} from './nft.js';
import {portRules, type PortRules, type PortRuleSettings} from './port-rules.js';
import {ServiceTable} from './table.js';

/** How long a chain stays after it was emptied. */
const staleMs = 1000;
/** How often what failed is logged in full. */
const failureLogMs = 24 * 3_600_000;

export interface NftablesParts {
  readonly family: IpFamily;
  readonly settings: RuleSettings;
  readonly kernel: Pick<ProxyKernel, 'run' | 'addresses'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: NftablesMetrics;
}

/** Writes what has changed; after a failure, and now and then, everything. */
export class NftablesMode implements ProxyMode {
  readonly family: IpFamily;
  readonly #parts: NftablesParts;
  readonly #nft: Nft;
  readonly #table: ServiceTable;
  readonly #ports: PortRuleSettings;
  readonly #nodePorts: NodePortAddresses;
  #hasBase = false;
  #failureLoggedAt = -Infinity;

  constructor(parts: NftablesParts) {
    const {family, settings, kernel} = parts;
    this.family = family;
    this.#parts = parts;
    this.#nft = new Nft(kernel, family);
    this.#table = new ServiceTable(family);
    this.#nodePorts = new NodePortAddresses(family, settings.nodePortAddresses);
    this.#ports = {
      family,
      nodeIp: settings.nodeIps[family],
      masqueradeAll: settings.masqueradeAll,
      local: localTraffic(settings.localDetection, family),
    };
  }

  async sync(state: ProxyState, change: ProxyChange): Promise<SyncResult> {
    const deletedAll = await this.#deleteStale();
    const isFull = change.isFull || !deletedAll;
    const now = this.#parts.clock.monotonic();
    const base = isFull ? await this.#restart(state) : [];
    const keys = isFull ? state.services.keys() : change.ports;
    const changed = new Map([...keys].map(key => [key, this.#rulesOf(key, state)]));
    const lines = [...base, ...this.#table.update(changed, now, isFull)];
    this.#parts.log
      .v(2)
      .info({ipFamily: this.family, numServices: state.services.size, commands: lines.length}, 'writing rules to nftables');
    if (lines.length > 0) await this.#write(lines);
    this.#hasBase ||= isFull;
    return {withoutLocalEndpoints: this.#table.lackingLocal, wasFull: isFull};
  }

  #rulesOf(key: string, {services, endpoints, zone}: ProxyState): PortRules | undefined {
    const port = services.get(key);
    if (!port) return undefined;
    const node = {nodeName: this.#parts.settings.nodeName, zone};
    return portRules(port, reachableEndpoints(endpoints.get(key) ?? [], port, node), this.#ports);
  }

  /** Makes everything be written again. Returns the commands that come first. */
  async #restart({serviceCidrs}: ProxyState): Promise<string[]> {
    const {family, settings} = this.#parts;
    const existing = await this.#existing();
    this.#table.reset(existing ?? {chains: new Set(), affinitySets: new Map()});
    const at = `${familyWords[family].ip} ${proxyTable.name}`;
    const base = baseLines(
      {family, mark: markOf(settings.masqueradeBit), serviceCidrs, nodePortAddresses: this.#nodePortAddresses()},
      !this.#hasBase,
    );
    // Of a table that cannot be read nothing is kept.
    const emptied = existing ? [] : [`add table ${at}`, `delete table ${at}`];
    return [...emptied, ...base, ...this.#table.emptying];
  }

  async #existing(): Promise<ExistingTable | undefined> {
    try {
      return await this.#nft.existing();
    } catch (error) {
      this.#parts.log.error({err: error, ipFamily: this.family}, 'failed to list the chains and sets of nftables');
      return undefined;
    }
  }

  #nodePortAddresses(): readonly string[] | undefined {
    if (this.#nodePorts.matchesAll) return undefined;
    const {kernel, log, settings} = this.#parts;
    const addresses = this.#nodePorts.of(kernel.addresses());
    const loopback = addresses.filter(isLoopback);
    for (const address of loopback)
      log.error({address}, '--nodeport-addresses includes localhost but localhost NodePorts are not supported');
    if (addresses.length === 0) log.warn({cidrs: settings.nodePortAddresses}, 'no address of the node takes traffic to node ports');
    return addresses.filter(address => !isLoopback(address));
  }

  /**
   * Deletes the chains that have been empty for long enough. Returns false if that failed: then what exists is unknown.
   */
  async #deleteStale(): Promise<boolean> {
    const {clock, log, metrics} = this.#parts;
    const stale = this.#table.staleBefore(clock.monotonic() - staleMs);
    if (stale.length === 0) return true;
    log.info({ipFamily: this.family, numChains: stale.length}, 'deleting stale chains of nftables');
    const lines = this.#table.deleting(stale);
    try {
      await this.#nft.apply(lines);
      this.#table.deleted(stale);
      return true;
    } catch (error) {
      log.error({err: error, ipFamily: this.family}, 'stale chains of nftables could not be deleted; this is tried again later');
      metrics.cleanupFailures.add({ip_family: this.family});
      await this.#logFailure(lines);
      return false;
    }
  }

  async #write(lines: readonly string[]): Promise<void> {
    const {log, metrics} = this.#parts;
    log.v(9).info({ipFamily: this.family, transaction: lines}, 'running a transaction of nftables');
    try {
      await this.#nft.apply(lines);
    } catch (error) {
      log.error({err: error, ipFamily: this.family}, 'the sync with nftables has failed');
      metrics.syncFailures.add({ip_family: this.family});
      await this.#logFailure(lines);
      throw error;
    }
  }

  async #logFailure(lines: readonly string[]): Promise<void> {
    const {clock, log} = this.#parts;
    if (clock.monotonic() - this.#failureLoggedAt < failureLogMs) return;
    this.#failureLoggedAt = clock.monotonic();
    log.v(4).info({ipFamily: this.family, transaction: lines}, 'the transaction that failed');
    const table = await this.#nft.text().catch((error: unknown) => String(error));
    log.v(4).info({ipFamily: this.family, table}, 'the table as it is');
  }
}

/** Deletes the tables of both families. Returns whether anything could not be deleted; why is logged. */
export const removeNftables = async (kernel: Pick<ProxyKernel, 'run'>, log: Log): Promise<boolean> => {
  let hasFailed = false;
  for (const family of ['IPv4', 'IPv6'] as const) {
    try {
      await new Nft(kernel, family).delete();
    } catch (error) {
      // A machine without nft has no tables.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      log.error({err: error, ipFamily: family}, 'failed to delete the rules of nftables');
      hasFailed = true;
    }
  }
  return hasFailed;
};
