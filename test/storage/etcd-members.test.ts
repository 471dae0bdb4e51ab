import test from 'ava';
import {openEtcdStore} from '#src/storage/etcd/index.js';
import {RevisionMismatch, StoreTimeout} from '#src/storage/errors.js';
import {etcdMissing, EtcdServer, hasEtcd} from './etcd-server.js';
import {Follower} from './follower.js';
import {bytes} from './store-environment.js';

interface Status {
  readonly leader: string;
  readonly header: {readonly member_id: string};
}

/** Calls etcd's gateway of JSON, which writes identifiers of 64 bits as texts. */
const call = async <T = unknown>(server: EtcdServer, method: string, body: object = {}): Promise<T> => {
  const response = await fetch(`${server.url}/v3/${method}`, {method: 'POST', body: JSON.stringify(body)});
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
};

/** The leader of a cluster, and another member. */
const rolesOf = async (servers: readonly EtcdServer[]) => {
  const statuses = await Promise.all(servers.map(server => call<Status>(server, 'maintenance/status')));
  const leader = statuses.findIndex(({leader: id, header}) => id === header.member_id);
  const other = (leader + 1) % servers.length;
  return {leader: servers[leader]!, other: servers[other]!, otherId: statuses[other]!.header.member_id};
};

type Disturb = (servers: readonly EtcdServer[]) => Promise<void>;

const disturbances: readonly (readonly [string, Disturb])[] = [
  [
    'its leader is killed and comes back',
    async servers => {
      const {leader} = await rolesOf(servers);
      await leader.kill();
      await leader.resume();
    },
  ],
  [
    'the leadership moves',
    async servers => {
      const {leader, otherId} = await rolesOf(servers);
      await call(leader, 'maintenance/transfer-leadership', {targetID: otherId});
    },
  ],
  [
    'all members are defragmented',
    async servers => void (await Promise.all(servers.map(server => call(server, 'maintenance/defragment')))),
  ],
  [
    'a member is removed',
    async servers => {
      const {leader, other, otherId} = await rolesOf(servers);
      // Refused until the members have been connected for a while.
      for (let isRemoved = false; !isRemoved;) {
        isRemoved = await call(leader, 'cluster/member/remove', {ID: otherId}).then(
          () => true,
          (error: Error) => {
            if (!error.message.includes('unhealthy cluster')) throw error;
            return false;
          },
        );
      }
      await other.kill();
    },
  ],
];

if (hasEtcd)
  for (const [what, disturb] of disturbances)
    test.serial(`no acknowledged write and no event is lost while ${what}`, async t => {
      const servers = await EtcdServer.startThree();
      t.teardown(() => Promise.all(servers.map(server => server.stop())));
      const store = await openEtcdStore({servers: servers.map(({url}) => url), prefix: '', naming: 'plat'});
      t.teardown(() => store.close());
      using follower = new Follower(store, {after: await store.revision()});
      let isDisturbed = false;
      let stored = await store.create('/a', bytes('0'));
      const acknowledged = [stored];
      const unknown: number[] = [];

      const writing = (async () => {
        for (let after = 0; after < 20; after += isDisturbed ? 1 : 0) {
          try {
            stored = await store.update('/a', bytes(String(stored)), stored);
            acknowledged.push(stored);
          } catch (error) {
            // The write may have been stored all the same: the next one continues from what is there.
            if (!(error instanceof StoreTimeout || error instanceof RevisionMismatch)) throw error;
            const {revision} = (await store.get('/a'))!;
            if (revision !== stored) unknown.push(revision);
            stored = revision;
          }
        }
      })();
      try {
        await disturb(servers);
      } finally {
        isDisturbed = true;
        await writing;
      }
      await follower.until(({received}) => received.at(-1)?.revision === stored);

      const revisions = follower.received.map(({revision}) => revision);
      t.deepEqual(
        revisions,
        [...revisions].sort((a, b) => a - b),
      );
      t.deepEqual(
        revisions,
        [...new Set([...acknowledged, ...unknown])].sort((a, b) => a - b),
      );
      t.deepEqual(follower.endings, []);
    });
else test.skip(etcdMissing, () => {});
