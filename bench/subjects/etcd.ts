import {resultOf} from '#bench/load/child.js';
import type {EtcdLoad} from '#bench/load/etcd-load.js';
import {startEtcd} from '#bench/load/etcd-server.js';
import {startPlane} from '#bench/load/programs.js';
import {collection, configMap, measured} from './requests.js';
import {row, type Row} from '#bench/run/row.js';

const clients = 64;
/** The size of the stored object. */
const valueBytes = 1500;
const rounds = 3;

const rawRate = (url: string): Promise<number> => {
  const load: EtcdLoad = {url, clients, valueBytes, warmupMs: 1500, measureMs: 4000};
  return resultOf('etcd-load.js', load);
};

/**
 * Creates through a server on etcd, beside transactions of the same kind and size that its gRPC client makes without a
 * server, in turns.
 */
export const etcdRows = async (): Promise<Row[]> => {
  const etcd = await startEtcd();
  if (!etcd) {
    console.log('skipped: etcd is not installed (Debian: apt-get install etcd-server)');
    return [];
  }
  try {
    const plane = await startPlane(undefined, [`--apiserver-arg=--kvstore-servers=${etcd.url}`]);
    const body = JSON.stringify(configMap('NAME'));
    let [raw, created] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      raw += (await rawRate(etcd.url)) / rounds;
      created += (await measured({...plane.pki, url: plane.url, path: collection, clients, method: 'POST', body})) / rounds;
    }
    await plane.stop();
    return [
      row('create through a server on etcd', created, '/s', {
        baseline: raw,
        note: `RBAC on, ${clients} clients; raw limit: transactions with values of ${valueBytes} bytes over plat's gRPC client alone, ${rounds} turns each`,
      }),
    ];
  } finally {
    await etcd.stop();
  }
};
