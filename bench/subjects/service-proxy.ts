// The rules of the service proxy on the kernel of this machine, beside the program nft that writes the same ones.

import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';
import {nftablesMetrics, proxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {noHooks} from '#src/proxy/mode/hooks.js';
import {checkNftables} from '#src/proxy/nftables/nft.js';
import {NftablesMode, removeNftables} from '#src/proxy/nftables/nftables-mode.js';
import {Proxier} from '#src/proxy/sync/proxier.js';
import {median, seconds, setting} from '#bench/load/each.js';
import {row, type Row} from '#bench/run/row.js';
import {Namespaces} from '#test/node/namespaces.js';
import {service, slice} from '#test/proxy/objects.js';
import {kernelMissing} from '#test/proxy/kernel/world.js';

const endpointsEach = 5;
const changes = 15;
const nodeName = 'bench';

const addressOf = (start: string, number: number): string => `${start}.${number >> 8}.${number & 255}`;

const endpointsOf = (index: number): string[] =>
  Array.from({length: endpointsEach}, (_, at) => addressOf('10.244', index * endpointsEach + at));

/** The kernel of namespaces, which keeps the last script. */
class RecordedKernel implements Pick<ProxyKernel, 'run' | 'addresses' | 'release'> {
  readonly #enter: readonly string[];
  script = '';

  constructor({enter}: Namespaces) {
    this.#enter = enter;
  }

  run({program, args, ...command}: Parameters<ProxyKernel['run']>[0]): ReturnType<ProxyKernel['run']> {
    this.script = command.input ?? this.script;
    const [enter = '', ...flags] = this.#enter;
    return systemKernel.run({...command, program: enter, args: [...flags, program, ...args]});
  }

  addresses(): readonly string[] {
    return ['192.168.0.2'];
  }

  release(): string {
    return systemKernel.release();
  }
}

/** Runs a script by nft alone. */
const alone = async (kernel: RecordedKernel, script: string): Promise<number> => {
  const time = await seconds(async () => {
    const {exitCode, stderr} = await kernel.run({program: 'nft', args: ['-f', '-'], input: script});
    if (exitCode !== 0) throw new Error(stderr);
  });
  return time * 1000;
};

/** A proxier, and a promise of its next sync. */
const startProxier = (kernel: RecordedKernel) => {
  let synced = (): void => {};
  const proxier = new Proxier({
    mode: new NftablesMode({
      family: 'IPv4',
      settings: {
        nodeName,
        nodeIps: {IPv4: '192.168.0.2'},
        masqueradeAll: false,
        masqueradeBit: 14,
        localDetection: {by: 'ranges', ranges: {IPv4: '10.244.0.0/16'}},
        nodePortAddresses: ['192.168.0.2/32'],
      },
      kernel,
      clock: systemClock,
      log: noLog,
      metrics: nftablesMetrics(noMeter),
    }),
    nodeName,
    periods: {minSyncPeriodMs: 1, syncPeriodMs: 30_000},
    hooks: {...noHooks, updated: () => synced()},
    naming: naming('kubernetes'),
    clock: systemClock,
    log: noLog,
    metrics: proxyMetrics(noMeter),
  });
  return {proxier, nextSync: () => new Promise<void>(resolve => (synced = resolve))};
};

export async function* serviceProxyRows(): AsyncGenerator<Row> {
  if (kernelMissing !== undefined) {
    console.log(`skipped: ${kernelMissing}`);
    return;
  }
  const services = setting('BENCH_PROXY_SERVICES', 1000);
  const [own, other] = [await Namespaces.create(), await Namespaces.create()];
  const [kernel, raw] = [new RecordedKernel(own), new RecordedKernel(other)];
  const {proxier, nextSync} = startProxier(kernel);
  try {
    await checkNftables({kernel, naming: naming('kubernetes'), environment: process.env});
    for (let index = 0; index < services; index++) {
      proxier.serviceChanged(undefined, service(`ns/svc${index}`, {clusterIP: addressOf('10.96', index)}));
      proxier.sliceChanged(slice(`ns/svc${index}`, endpointsOf(index)), false);
    }
    proxier.start();
    const full = nextSync();
    const time = await seconds(async () => {
      proxier.known('services');
      proxier.known('endpointSlices');
      await full;
    });
    yield row('services synced to the kernel', time, 's', {
      key: 'proxy-full',
      baseline: (await alone(raw, kernel.script)) / 1000,
      note: `${services} Services with ${services * endpointsEach} endpoints; the baseline is nft alone with the same rules`,
    });
    const times: number[] = [];
    const direct: number[] = [];
    for (let at = 0; at < changes; at++) {
      const done = nextSync();
      const changed = slice(`ns/svc${at}`, [...endpointsOf(at), '10.250.0.1']);
      times.push(
        (await seconds(async () => {
          proxier.sliceChanged(changed, false);
          await done;
        })) * 1000,
      );
      direct.push(await alone(raw, kernel.script));
    }
    yield row('one endpoint more synced to the kernel', median(times), 'ms', {
      key: 'proxy-endpoint',
      baseline: median(direct),
      note: `beside ${services} Services, median of ${changes}; the baseline is nft alone with the same change`,
    });
  } finally {
    await proxier.stop();
    await removeNftables(kernel, noLog);
    await Promise.all([own.end(), other.end()]);
  }
}
