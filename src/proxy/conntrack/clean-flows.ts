// Makes the kernel forget flows of UDP that go to endpoints that are gone, by the program conntrack.

import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {outputOf, type ProxyKernel} from '#src/proxy/kernel/kernel.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {ProxyState} from '#src/proxy/mode/mode.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {parseFlows, staleFlows, type FlowFilter} from './flows.js';

export interface CleanFlowsParts {
  readonly kernel: Pick<ProxyKernel, 'run'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<ProxyMetrics, 'reconcileFlows' | 'deletedFlows'>;
}

const familyNames: Readonly<Record<IpFamily, string>> = {IPv4: 'ipv4', IPv6: 'ipv6'};

const deletion = (family: IpFamily, {destination, destinationPort, replySource, replySourcePort}: FlowFilter): string =>
  [
    `-D -f ${familyNames[family]} -p udp`,
    ...(destination === undefined ? [] : [`--orig-dst ${destination}`]),
    `--orig-port-dst ${destinationPort} --reply-src ${replySource} --reply-port-src ${replySourcePort}`,
  ].join(' ');

/** Deletes the stale flows of a family, all in one run of the program. Failures are logged. */
export const cleanFlows = async (
  {kernel, clock, log, metrics}: CleanFlowsParts,
  family: IpFamily,
  state: Pick<ProxyState, 'services' | 'endpoints'>,
): Promise<void> => {
  const startedAt = clock.monotonic();
  const labels = {ip_family: family};
  const listing = {program: 'conntrack', args: ['-L', '-f', familyNames[family], '-p', 'udp']};
  let filters: readonly FlowFilter[];
  try {
    filters = staleFlows(parseFlows(await outputOf(kernel, listing)), state);
  } catch (error) {
    log.error({err: error, ipFamily: family}, 'failed to list conntrack entries');
    return;
  }
  let deleted = 0;
  try {
    if (filters.length > 0) {
      const input = filters.map(filter => `${deletion(family, filter)}\n`).join('');
      deleted = linesOf(await outputOf(kernel, {program: 'conntrack', args: ['-R', '-'], input}));
    }
    log.v(4).info({ipFamily: family, entriesDeleted: deleted}, 'reconciled conntrack entries');
  } catch (error) {
    log.error({err: error, ipFamily: family}, 'failed to clear all conntrack entries');
  }
  metrics.reconcileFlows.observe((clock.monotonic() - startedAt) / 1000, labels);
  metrics.deletedFlows.add(labels, deleted);
};

/** The program prints each flow that it deletes, on a line. */
const linesOf = (output: string): number => output.split('\n').filter(Boolean).length;
