// Counters of packets in the kernel that rules name (nfnetlink_acct), where the kernel and the program have them.

import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {messageOf} from '#src/base/message.js';
import {outputOf, type ProxyKernel} from '#src/proxy/kernel/kernel.js';

/** The names of the original: packets that belong to no connection, and those to node ports by the loopback. */
export const counterNames = {invalid: 'ct_state_invalid_dropped_pkts', localhost: 'localhost_nps_accepted_pkts'} as const;

/** The counters of a machine. */
export interface PacketCounters {
  /** Creates those that are missing. Returns the names of those that are there, which rules may use. */
  ensure(): Promise<ReadonlySet<string>>;
  /** The number of packets by name. */
  read(): Promise<ReadonlyMap<string, number>>;
}

/** The counters of a machine that has none. */
export const noCounters: PacketCounters = {ensure: async () => new Set(), read: async () => new Map()};

interface Listed {
  readonly nfacct_counters: readonly {readonly name: string; readonly pkts: number}[];
}

/** Opens the counters of the machine: none, with a line in the log, where they are not available. */
export const openCounters = async (kernel: Pick<ProxyKernel, 'run'>, log: Log): Promise<PacketCounters> => {
  const run = (...args: readonly string[]): Promise<string> => outputOf(kernel, {program: 'nfacct', args});
  const read = async (): Promise<ReadonlyMap<string, number>> => {
    const text = await run('list', 'json');
    // Without any, nothing is printed.
    if (text.trim() === '') return new Map();
    return new Map((JSON.parse(text) as Listed).nfacct_counters.map(({name, pkts}) => [name, pkts]));
  };
  try {
    await read();
  } catch (error) {
    log.info({reason: messageOf(error)}, 'packets are not counted: nfacct is not available');
    return noCounters;
  }
  return {
    read,
    async ensure() {
      const names = new Set(await read().then(counters => counters.keys()));
      for (const counter of Object.values(counterNames)) {
        if (names.has(counter)) continue;
        try {
          await run('add', counter);
          names.add(counter);
        } catch (error) {
          log.error({err: error, counter}, 'failed to create a counter of packets: its metric will not be updated');
        }
      }
      return names;
    },
  };
};

const metricsOf = {
  [counterNames.invalid]: {
    name: 'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
    help: 'packets dropped by iptables to work around conntrack problems',
  },
  [counterNames.localhost]: {
    name: 'kubeproxy_iptables_localhost_nodeports_accepted_packets_total',
    help: 'Number of packets accepted on nodeports of loopback interface',
  },
} as const;

/** Serves the counters as metrics. Returns what reads them, before each scrape. */
export const counterMetrics = (counters: PacketCounters, meter: Meter, log: Log): (() => Promise<void>) => {
  let packets: ReadonlyMap<string, number> = new Map();
  for (const [counter, spec] of Object.entries(metricsOf))
    meter.observed({...spec, type: 'counter'}, () => (packets.has(counter) ? [[{}, packets.get(counter)!]] : []));
  return async () => {
    packets = await counters.read().catch((error: unknown) => {
      log.error({err: error}, 'failed to read the counters of packets');
      return new Map<string, number>();
    });
  };
};
