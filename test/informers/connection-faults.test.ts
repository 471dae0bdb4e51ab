// Each fault of `make soak-watches`, alone and on a virtual clock: the cache is right within a stated time after it.

import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {expired, internalError, tooManyRequests} from '#src/api/status.js';
import type {Frozen} from '#src/api/key.js';
import type {ConfigMap} from '#src/api/types.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {UnreadableEvent} from '#src/client/errors.js';
import {listerWatcher, type ListerWatcher} from '#informers/lister-watcher.js';
import {resolveSelection} from '#informers/selection.js';
import {SharedInformer} from '#informers/shared.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {startServer, type TestApiServer} from '#test/fixtures/server.js';
import {FaultyApi} from './faults.js';

const second = 1000;

/** An informer of config maps that has the map `before`, and a server that can be replaced. */
const informing = async (t: ExecutionContext, seed: number) => {
  const clock = new VirtualClock();
  let env: TestApiServer = startServer({clock});
  const maps = () => env.clientOf().resource(kinds.configMaps);
  const served = (): ListerWatcher<ConfigMap> => listerWatcher(env.clientOf(), resolveSelection(kinds.configMaps, env.clientOf().naming));
  const api = new FaultyApi<ConfigMap>({list: options => served().list(options), watch: options => served().watch(options)});
  api.probed = false;
  const life = new AbortController();
  t.teardown(() => life.abort());
  const random = seededRandom(seed);
  const parts = {clock, random, log: noLog, meter: noMeter, minResyncMs: 0, freeze: true};
  const informer = new SharedInformer<ConfigMap>(api, {...parts, name: 'configmaps', apiVersion: 'v1', kind: 'ConfigMap'});
  const set = async (name: string, value: string) => {
    const body = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}, data: {value}};
    await maps().patch(name, 'apply', body, {namespace: 'default', fieldManager: 'test'});
    await clock.drain();
  };
  const replaceBy = (next: TestApiServer) => {
    const {server} = env;
    env = next;
    server.endWatches();
  };
  // A store that goes back to a version that the informer has seen could not be told from one that did not.
  for (let version = 1; version < 9; version++) await set('before', String(version));
  informer.start(life.signal);
  await clock.advance(20 * second * random.float());
  const isRight = async () => {
    const versions = (items: Iterable<Frozen<ConfigMap>>) =>
      [...items].map(({metadata}) => `${metadata?.name}@${metadata?.resourceVersion}`).sort();
    return versions((await maps().list({namespace: 'default'})).items).join() === versions(informer.lister.list()).join();
  };
  return {clock, api, set, replaceBy, isRight, store: () => env.store};
};

type Setting = Awaited<ReturnType<typeof informing>>;

/**
 * What strikes, and the seconds after which the cache must be right: after three failures in a row the waits add up to
 * 11.2 s at most.
 */
const faults: Readonly<Record<string, readonly [within: number, strike: (setting: Setting) => void | Promise<void>]>> = {
  'the connection is cut': [2, ({api}) => api.cut()],
  'the stream stalls without an end': [
    37, // A watch of 30 s at most, 5 s in which its end may be late, and a wait of 1.6 s.
    async ({api, set}) => {
      await set('before', 'a last sign of life');
      api.goSilent();
    },
  ],
  'a line is garbage, and is sent again to a watch from there': [
    5,
    ({api}) => {
      api.watchFaults.push(new UnreadableEvent());
      api.cut();
    },
  ],
  'watches are refused with 429': [
    12,
    ({api}) => {
      api.watchFaults.push(tooManyRequests('too many', 1), tooManyRequests('too many', 1));
      api.cut();
    },
  ],
  'watch and list are refused with 410': [
    12,
    ({api}) => {
      api.watchFaults.push(expired('too old resource version'));
      api.listFaults.push(expired('too old resource version'));
      api.cut();
    },
  ],
  'watch and list are refused with 500': [
    12,
    ({api}) => {
      api.watchFaults.push(expired('too old resource version'));
      api.listFaults.push(internalError(new Error('injected')));
      api.cut();
    },
  ],
  'the server goes back to a backup': [
    6,
    async ({clock, set, replaceBy, store}) => {
      const backup = store().snapshot!();
      for (let version = 9; version < 19; version++) await set('before', String(version));
      replaceBy(startServer({clock, store: backup.open(clock)}));
    },
  ],
  'the store of the server is emptied': [6, ({clock, replaceBy}) => replaceBy(startServer({clock, store: memoryStore({clock})}))],
};

for (const [title, [within, strike]] of Object.entries(faults)) {
  test(`a cache is right ${within} s after this at the latest: ${title}`, async t => {
    for (const seed of [1, 2, 3]) {
      const setting = await informing(t, seed);
      const {clock, set, isRight} = setting;
      await strike(setting);
      await set('after', '1');
      t.false(await isRight(), 'the fault hides a change');
      const since = clock.monotonic();
      while (!(await isRight()) && clock.monotonic() - since < 300 * second) await clock.advance(100);
      const took = (clock.monotonic() - since) / second;
      t.log(`seed ${seed}: ${took} s`);
      t.true(took <= within, `${took} s`);
      await clock.advance(120 * second);
      t.true(await isRight(), 'and stays so');
    }
  });
}
