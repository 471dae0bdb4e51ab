import test from 'ava';
import {AbsentOwners} from '#controllers/garbage-collector/absent-owners.js';
import {Graph} from '#controllers/garbage-collector/graph.js';
import {KindMap} from '#controllers/garbage-collector/kind-map.js';
import {Monitors} from '#controllers/garbage-collector/monitors.js';
import {DiscoverySchedule} from '#controllers/garbage-collector/discovery-schedule.js';
import {ResourceSync} from '#controllers/garbage-collector/resources.js';
import {InformerFactory} from '#informers/factory.js';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Caller} from '#src/client/caller.js';
import {clientOver} from '#src/client/resource-client.js';
import {recordingLog} from '#test/runtime/environment.js';

interface Served {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly stale?: boolean;
}

/** A server whose kinds come and go, all of them empty; `open` are the paths that are being watched. */
const changing = () => {
  const clock = new VirtualClock();
  const words = naming('plat');
  const open = new Set<string>();
  let groups: readonly Served[] = [];
  const aggregated = (core: boolean) => ({
    kind: 'APIGroupDiscoveryList',
    items: [...new Set(groups.map(({group}) => group).filter(group => (group === '') === core))].map(name => ({
      metadata: {name},
      versions: groups
        .filter(({group}) => group === name)
        .map(({version, resource, verbs = ['delete', 'list', 'watch'], stale}) => ({
          version,
          freshness: stale ? 'Stale' : 'Current',
          resources: [{resource, responseKind: {kind: resource}, scope: 'Namespaced', verbs}],
        })),
    })),
  });
  let callsInTurn = 0;
  let mostCallsInTurn = 0;
  const countInTurn = () => {
    if (callsInTurn++ === 0) setImmediate(() => (callsInTurn = 0));
    mostCallsInTurn = Math.max(mostCallsInTurn, callsInTurn);
  };
  const caller: Caller = {
    async call({path}) {
      countInTurn();
      if (path.includes('/stuck')) return new Promise(() => {});
      const body = path === '/api' || path === '/apis' ? aggregated(path === '/api') : {metadata: {resourceVersion: '1'}, items: []};
      return {status: 200, header: () => undefined, body};
    },
    async watch({path, signal}) {
      const resource = path.split('?')[0]!;
      open.add(resource);
      signal.addEventListener('abort', () => open.delete(resource));
      return undefined;
    },
  };
  const client = clientOver(caller, words);
  const life = new AbortController();
  const informers = new InformerFactory({
    client,
    clock,
    random: seededRandom(1),
    log: noLog,
    meter: noMeter,
    minResyncMs: 0,
    signal: life.signal,
  });
  const kindMap = new KindMap(client);
  const graph = new Graph(new AbsentOwners(), {
    attemptToDelete() {},
    attemptToDeleteLater() {},
    attemptToOrphan() {},
    ownerInOtherNamespace() {},
  });
  const schedule = new DiscoverySchedule(clock);
  const monitors = new Monitors({informers, naming: words, graph, definitionChanged: () => schedule.trigger(), notServed() {}});
  const {lines, log} = recordingLog();
  const watch = new ResourceSync({
    client,
    clock,
    log,
    kinds: kindMap,
    monitors,
    schedule,
    onKindsRead() {},
    failures: noMeter.counter({name: 'f', help: 'f'}),
  });
  let synced = 0;
  const serveFor = async (ms: number, ...served: readonly Served[]) => {
    groups = served;
    await clock.advance(ms);
    return [...open].sort();
  };
  const serve = (...served: readonly Served[]) => serveFor(30_000, ...served);
  /** A definition changes first. */
  const define = (...served: readonly Served[]) => {
    schedule.trigger();
    return serveFor(500, ...served);
  };
  void watch.run(life.signal, () => synced++);
  return {
    serve,
    define,
    serveFor,
    open,
    lines,
    kindMap,
    end: () => life.abort(),
    synced: () => synced,
    mostCallsInTurn: () => mostCallsInTurn,
  };
};

const pods: Served = {group: '', version: 'v1', resource: 'pods'};
const widgets: Served = {group: 'example.com', version: 'v1', resource: 'widgets'};
const [podPath, widgetPath] = ['/api/v1/pods', '/apis/example.com/v1/widgets'];

test('newly served resources are monitored within half a minute, and removed ones no longer', async t => {
  const {serve, kindMap, synced, end} = changing();
  t.deepEqual(await serve(pods), [podPath]);
  t.is(synced(), 1);
  t.throws(() => kindMap.of({apiVersion: 'example.com/v1', kind: 'widgets'}), {
    message: 'unable to get REST mapping for example.com/v1/widgets.',
  });

  t.deepEqual(await serve(pods, widgets), [podPath, widgetPath].sort());
  t.true(kindMap.of({apiVersion: 'example.com/v1', kind: 'widgets'}).namespaced);
  t.is(synced(), 2);

  t.deepEqual(await serve(pods), [podPath]);
  t.throws(() => kindMap.of({apiVersion: 'example.com/v1', kind: 'widgets'}));
  end();
});

test('a definition that changed is looked for at once, although another resource cannot be listed', async t => {
  const {serve, define, end} = changing();
  const stuck: Served = {group: 'example.com', version: 'v1', resource: 'stuck'};
  t.deepEqual(await serve(pods), [podPath]);
  t.deepEqual(await define(pods, stuck), [podPath]);

  t.deepEqual(await define(pods, stuck, widgets), [podPath, widgetPath].sort());
  end();
});

test('a definition that discovery lists late is looked for with backoff', async t => {
  const {serve, define, serveFor, end} = changing();
  await serve(pods);
  await define(pods);
  await serveFor(3_000, pods);

  // 100 ms after the change, then after 200, 400, 800, 1,600 and 3,200 ms.
  t.deepEqual(await serveFor(2_750, pods, widgets), [podPath]);
  t.deepEqual(await serveFor(100, pods, widgets), [podPath, widgetPath].sort());
  end();
});

test('a group whose discovery fails keeps its monitored resources', async t => {
  const {serve, lines, end} = changing();
  await serve(pods, widgets);

  t.deepEqual(await serve(pods, {...widgets, stale: true}), [podPath, widgetPath].sort());
  t.true(lines.includes('warn failed to discover some groups'));
  t.deepEqual(await serve(pods), [podPath]);
  end();
});

test('empty discovery is treated as a failure', async t => {
  const {serve, lines, end} = changing();
  await serve(pods);

  t.deepEqual(await serve(), [podPath]);
  t.true(lines.includes('error what the server serves could not be followed'));
  end();
});

test('the lists of sixty kinds do not begin in one turn of the event loop', async t => {
  const {serve, mostCallsInTurn, end} = changing();
  const followed = await serve(...Array.from({length: 60}, (_, index) => ({...widgets, resource: `kind${index}`})));

  t.is(followed.length, 60);
  t.true(mostCallsInTurn() <= 3, `${mostCallsInTurn()} calls in one turn`);
  end();
});

test('a resource is followed once, in its preferred version, if it can be listed, watched and deleted, and never if it is events', async t => {
  const {serve, kindMap, end} = changing();
  const followed = await serve(
    pods,
    widgets,
    {...widgets, version: 'v2'},
    {group: '', version: 'v1', resource: 'events'},
    {group: 'events.plat.io', version: 'v1', resource: 'events'},
    {group: 'example.com', version: 'v1', resource: 'readings', verbs: ['get', 'list']},
  );

  t.deepEqual(followed, [podPath, widgetPath].sort());
  // Owners may be named by any version, and be of any kind.
  for (const [apiVersion, kind] of [
    ['example.com/v2', 'widgets'],
    ['v1', 'events'],
    ['example.com/v1', 'readings'],
  ] as const)
    t.notThrows(() => kindMap.of({apiVersion, kind}));
  end();
});
