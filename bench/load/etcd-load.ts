// A process that creates keys in etcd over one gRPC connection of ours, as fast as the responses arrive, and prints the
// number a second.

import {systemClock} from '#src/base/clock.js';
import {encodeTxn} from '#src/storage/etcd/messages.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';

/** The settings of the load, as JSON in the only argument. */
export interface EtcdLoad {
  readonly url: string;
  readonly clients: number;
  readonly valueBytes: number;
  readonly warmupMs: number;
  readonly measureMs: number;
}

const run = async ({url, clients, valueBytes, warmupMs, measureMs}: EtcdLoad): Promise<number> => {
  await using channel = new GrpcChannel({servers: [url], clock: systemClock});
  const put = Buffer.alloc(valueBytes, 'x');
  const start = performance.now() + warmupMs;
  const end = start + measureMs;
  let [sent, count] = [0, 0];
  await Promise.all(
    Array.from({length: clients}, async () => {
      while (performance.now() < end) {
        const key = `/bench/${process.pid}/${sent++}`;
        const began = performance.now();
        await channel.call('/etcdserverpb.KV/Txn', encodeTxn({key, expected: {revision: 0}, apply: {put}, otherwise: 'get'}), 10_000);
        if (began >= start) count++;
      }
    }),
  );
  return (count * 1000) / measureMs;
};

const [, , argument] = process.argv;
if (argument) console.log(JSON.stringify(await run(JSON.parse(argument) as EtcdLoad)));
