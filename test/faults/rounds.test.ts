import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {etcdMissing, hasEtcd} from '#test/storage/etcd-server.js';
import {runRound, type RoundOptions, type RoundResult} from './rounds/round.js';

/** Short rounds; `make faults` runs long ones. */
const aRound = async (t: ExecutionContext, options: Pick<RoundOptions, 'backend' | 'only'>): Promise<RoundResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-faults-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  return runRound({...options, seed: 1, seconds: 3, clients: 4, watchers: 4, keys: 4, file: join(folder, 'history.jsonl')});
};

test.serial('operations are linearizable and watchers miss nothing while a server with an embedded store is killed', async t => {
  const {problems, operations, events, faults} = await aRound(t, {backend: 'embedded', only: ['kill-server']});

  t.deepEqual(problems, []);
  t.true(operations > 0 && events > 0 && faults.get('kill-server')! > 0);
});

(hasEtcd ? test.serial : test.serial.skip)(
  'operations are linearizable and watchers miss nothing while etcd is killed and compacted',
  async t => {
    if (!hasEtcd) t.log(`skipped: ${etcdMissing}`);
    const {problems, operations, events, faults} = await aRound(t, {backend: 'etcd', only: ['kill-etcd', 'compact-etcd']});

    t.deepEqual(problems, []);
    t.true(operations > 0 && events > 0 && faults.size > 0);
  },
);
