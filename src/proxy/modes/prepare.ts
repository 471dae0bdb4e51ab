// Prepares the kernel for a mode, and creates it for a family.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {isTcpLiberal} from '#src/proxy/conntrack/limits.js';
import {watchFlushes} from '#src/proxy/iptables/canary.js';
import {Iptables} from '#src/proxy/iptables/iptables.js';
import {IptablesMode} from '#src/proxy/iptables/iptables-mode.js';
import {iptablesMetrics} from '#src/proxy/iptables/metrics.js';
import {counterMetrics, noCounters, openCounters} from '#src/proxy/iptables/packet-counters.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {nftablesMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {checkNftables} from '#src/proxy/nftables/nft.js';
import {NftablesMode} from '#src/proxy/nftables/nftables-mode.js';
import {ipFamilies, type IpFamily} from '#src/proxy/state/ip-family.js';
import {NodePortAddresses} from '#src/proxy/state/node-port-addresses.js';
import type {CreateMode} from '#src/proxy/mode/mode.js';
import type {SyncPeriods} from '#src/proxy/mode/settings.js';

export type ModeName = 'iptables' | 'nftables';

export interface ModeParts {
  readonly mode: ModeName;
  readonly kernel: ProxyKernel;
  readonly periods: SyncPeriods;
  /** Whether node ports are to be reachable by the loopback, in mode iptables. */
  readonly localhostNodePorts: boolean;
  readonly naming: Naming;
  /** The variables of the process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
}

/** A mode that the kernel is prepared for. */
export interface PreparedMode {
  readonly create: CreateMode;
  /** Watches whether someone removes the rules, and asks for a sync then, until the signal aborts. */
  watch(request: () => void, signal: AbortSignal): Promise<void>;
  /** Reads what metrics show, before a scrape. */
  beforeScrape(): Promise<void>;
}

/** Returns the families in which the machine can route services. Rejects if it can in none. */
export const supportedFamilies = async ({mode, kernel, log}: Pick<ModeParts, 'mode' | 'kernel' | 'log'>): Promise<readonly IpFamily[]> => {
  const problems = new Map<IpFamily, string>();
  if (mode === 'iptables')
    for (const family of ipFamilies) {
      const problem = await new Iptables(family, kernel).problem();
      if (problem !== undefined) problems.set(family, problem);
    }
  if (problems.size === ipFamilies.length) throw new Error(`iptables is not available on this host : ${problems.get('IPv4')}`);
  for (const [ipFamily, problem] of problems) log.info({ipFamily, error: problem}, 'no iptables support for family');
  const hasIpv6 = await kernel.hasIpv6();
  if (!hasIpv6) log.info({ipFamily: 'IPv6'}, 'no kernel support for family');
  return ipFamilies.filter(family => !problems.has(family) && (family === 'IPv4' || hasIpv6));
};

const routeLocalnet = 'net/ipv4/conf/all/route_localnet';

/** Lets packets to addresses of the loopback be routed. */
const ensureRouteLocalnet = async ({kernel, log}: Pick<ModeParts, 'kernel' | 'log'>): Promise<void> => {
  log.info(
    'setting route_localnet=1 to allow node ports on localhost; to change this either disable iptables.localhostNodePorts (--iptables-localhost-nodeports) or set nodePortAddresses (--nodeport-addresses) to leave out loopback addresses',
  );
  if ((await kernel.readSysctl(routeLocalnet)) === '1') return;
  try {
    await kernel.writeSysctl(routeLocalnet, '1');
  } catch (cause) {
    throw new Error(`unable to create proxier: can't set sysctl ${routeLocalnet} to 1: ${(cause as Error).message}`, {cause});
  }
};

/** Prepares the kernel for a mode. `nodePortAddresses` are the ranges that take traffic to node ports. */
export const prepareMode = async (
  parts: ModeParts,
  nodePortAddresses: readonly string[],
  families: readonly IpFamily[],
): Promise<PreparedMode> => (parts.mode === 'iptables' ? prepareIptables(parts, nodePortAddresses, families) : prepareNftables(parts));

const prepareNftables = async ({kernel, naming, environment, clock, log, meter}: ModeParts): Promise<PreparedMode> => {
  await checkNftables({kernel, naming, environment});
  const metrics = nftablesMetrics(meter);
  return {
    create: (family, settings) => new NftablesMode({family, settings, kernel, clock, log, metrics}),
    beforeScrape: () => Promise.resolve(),
    watch: () => Promise.resolve(), // Every sync would fail without the table, and then writes everything.
  };
};

const prepareIptables = async (
  parts: ModeParts,
  nodePortAddresses: readonly string[],
  families: readonly IpFamily[],
): Promise<PreparedMode> => {
  const {kernel, periods, naming, clock, log, meter} = parts;
  const {syncPeriodMs} = periods;
  const localhostNodePorts = parts.localhostNodePorts && new NodePortAddresses('IPv4', nodePortAddresses).holdsLoopback;
  if (localhostNodePorts && families.includes('IPv4')) await ensureRouteLocalnet(parts);
  const conntrackTcpLiberal = await isTcpLiberal(kernel);
  if (conntrackTcpLiberal) log.info('nf_conntrack_tcp_be_liberal set, not installing DROP rules for INVALID packets');
  const metrics = iptablesMetrics(meter, naming);
  const programs = new Map(families.map(family => [family, new Iptables(family, kernel)]));
  const randomly = new Map<IpFamily, boolean>();
  for (const [family, iptables] of programs) randomly.set(family, await iptables.hasRandomFully());
  const modes: IptablesMode[] = [];
  const counters = await openCounters(kernel, log);
  return {
    beforeScrape: counters === noCounters ? () => Promise.resolve() : counterMetrics(counters, meter, log),
    create(family, settings) {
      const base = {
        hasRandomFully: randomly.get(family)!,
        localhostNodePorts: localhostNodePorts && family === 'IPv4',
        conntrackTcpLiberal,
      };
      const addresses = () => kernel.addresses();
      const iptables = programs.get(family)!;
      const mode = new IptablesMode({iptables, settings, base, counters, addresses, syncPeriodMs, clock, log, metrics});
      modes.push(mode);
      return mode;
    },
    async watch(request, signal) {
      const flushed = (mode: IptablesMode) => () => {
        mode.flushed();
        request();
      };
      const watches = modes.map(mode =>
        watchFlushes({iptables: programs.get(mode.family)!, periodMs: syncPeriodMs, clock, log, signal, flushed: flushed(mode)}),
      );
      await Promise.all(watches).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    },
  };
};
