import test from 'ava';
import type {KubeObject} from '#src/api/types.js';
import {startPlane} from '#src/plane/plane.js';
import {wire} from '#test/apiserver/wire.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

interface Counter extends KubeObject {
  readonly data: Readonly<Record<string, string>>;
}

const path = '/api/v1/namespaces/default/configmaps';
const writersEach = 4;
const updatesEach = process.env['PLAT_LONG_FAULTS'] ? 267 : 8;
const counters = 3;

(hasEtcd ? test : test.skip)(
  `no compare-and-update of several servers on one etcd is lost, also when etcd dies meanwhile${hasEtcd ? '' : ` (${etcdMissing})`}`,
  async t => {
    const etcd = await EtcdServer.start();
    t.teardown(() => etcd.stop());
    const servers = await Promise.all(
      [1, 2, 3].map(async () => {
        const plane = await startPlane({
          apiserverArgs: [`--kvstore-servers=${etcd.url}`],
          controllerManagerArgs: ['--controllers='],
          listen: false,
        });
        t.teardown(() => plane.stop());
        return wire(plane.api.handler);
      }),
    );
    const names = Array.from({length: counters}, (_, index) => `counter-${index}`);
    for (const name of names) t.is((await servers[0]!.post(path, {metadata: {name}, data: {n: '0'}})).status, 201);
    const acknowledged = new Map(names.map(name => [name, 0]));
    const unknown = new Map(names.map(name => [name, 0]));
    const versions = new Set<string>();

    /** Adds one to a counter until it was acknowledged so many times. */
    const writer = async ({get, put}: (typeof servers)[number], name: string): Promise<void> => {
      for (let done = 0; done < updatesEach;) {
        const read = await get(`${path}/${name}`);
        if (read.status !== 200) continue;
        const found = read.json<Counter>();
        const written = await put(`${path}/${name}`, {...found, data: {n: String(Number(found.data['n']) + 1)}});
        if (written.status === 200) {
          done += 1;
          versions.add(written.json().metadata!.resourceVersion!);
          acknowledged.set(name, acknowledged.get(name)! + 1);
        } else if (written.status !== 409) unknown.set(name, unknown.get(name)! + 1);
      }
    };
    const writing = servers.flatMap(server => Array.from({length: writersEach}, (_, index) => writer(server, names[index % counters]!)));
    await etcd.kill();
    await etcd.resume();
    await Promise.all(writing);

    const total = servers.length * writersEach * updatesEach;
    t.is(versions.size, total, 'each acknowledged update has a version of its own');
    for (const name of names) {
      const values = await Promise.all(servers.map(async ({get}) => Number((await get(`${path}/${name}`)).json<Counter>().data['n'])));
      t.is(new Set(values).size, 1, 'all servers read the same');
      // A write whose outcome is unknown counts or does not.
      t.true(values[0]! >= acknowledged.get(name)! && values[0]! <= acknowledged.get(name)! + unknown.get(name)!, name);
    }
  },
);
