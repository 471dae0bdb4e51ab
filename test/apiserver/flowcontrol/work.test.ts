import test from 'ava';
import {noMeter} from '#src/base/meter.js';
import {requestInfo} from '#src/apiserver/request/request-info.js';
import {FlowControlMetrics} from '#src/apiserver/flowcontrol/metrics.js';
import {WatchCounts} from '#src/apiserver/flowcontrol/watch-counts.js';
import {workEstimator, type StoredObjects} from '#src/apiserver/flowcontrol/work-estimate.js';
import {aConfigMap, configMaps, settled} from '#test/apiserver/wire.js';
import {aLevel, aSchema, aUser, startFair} from './environment.js';

const meters = new FlowControlMetrics(noMeter, () => 0).flow('level', 'schema');

const start = ({stored, gates = ['WatchList', 'SizeBasedListCostEstimate']}: {stored?: StoredObjects; gates?: readonly string[]} = {}) => {
  const watches = new WatchCounts();
  const estimate = workEstimator({storedObjects: () => stored, watches, gate: name => gates.includes(name)});
  const work = (method: string, url: string, maxSeats?: number) => estimate(requestInfo(method, url), maxSeats, meters);
  return {watches, work, seats: (method: string, url: string, maxSeats?: number) => work(method, url, maxSeats).initialSeats};
};

test('a list occupies a seat for each 100 kB, at most a megabyte from the cache', t => {
  const {seats} = start({stored: {count: 1000, averageBytes: 800}});
  for (const [query, expected] of [
    ['', 8],
    ['?limit=250', 2],
    ['?limit=1', 1],
    ['?fieldSelector=metadata.name%3Da', 1],
    ['?labelSelector=a%3Db', 8],
    ['?labelSelector=a%3Db&limit=10', 1],
    ['?resourceVersion=0&limit=500', 4],
    ['?resourceVersion=5&limit=10&labelSelector=a%3Db', 4],
    ['?resourceVersion=5&resourceVersionMatch=Exact', 8],
    ['?resourceVersion=5&resourceVersionMatch=NotOlderThan', 8],
    ['?continue=abc&limit=500', 4],
  ] as const)
    t.is(seats('GET', `/api/v1/pods${query}`), expected, query);
  const large = start({stored: {count: 100_000, averageBytes: 2000}});
  t.is(large.seats('GET', '/api/v1/pods'), 10);
  t.is(large.seats('GET', '/api/v1/pods?resourceVersion=5&resourceVersionMatch=Exact'), 100);
  t.is(large.seats('GET', '/api/v1/pods?resourceVersion=5&resourceVersionMatch=Exact', 15), 15, 'the limit of the level');
  t.is(start({stored: {count: 3, averageBytes: 0}}).seats('GET', '/api/v1/pods'), 10, 'the size is unknown');
  t.is(start().seats('GET', '/apis/metrics.k8s.io/v1beta1/pods'), 1, 'nothing is stored here');
  t.is(start({stored: {count: 0, averageBytes: 0}}).seats('GET', '/api/v1/pods'), 1);
});

test('without estimates of sizes a list occupies a seat for each 100 objects, at most ten', t => {
  const {seats} = start({stored: {count: 650, averageBytes: 800}, gates: []});
  for (const [query, expected] of [
    ['', 7],
    ['?limit=100', 7],
    ['?fieldSelector=metadata.name%3Da', 1],
    ['?resourceVersion=5&limit=100', 2],
    ['?resourceVersion=5&limit=100&labelSelector=a%3Db', 8],
  ] as const)
    t.is(seats('GET', `/api/v1/pods${query}`), expected, query);
  t.is(start({stored: {count: 5000, averageBytes: 1}, gates: []}).seats('GET', '/api/v1/pods'), 10);
  t.is(seats('GET', '/api/v1/pods?watch=1'), 1, 'nor does a watch occupy more than one');
});

test('a watch occupies the seats of a list if it begins with one', t => {
  const {seats} = start({stored: {count: 1000, averageBytes: 400}});
  for (const [query, expected] of [
    ['watch=1', 4],
    ['watch=1&resourceVersion=0', 4],
    ['watch=1&resourceVersion=77', 1],
    ['watch=1&resourceVersion=77&sendInitialEvents=true', 4],
  ] as const)
    t.is(seats('GET', `/api/v1/pods?${query}`), expected, query);
});

test('a write keeps seats for 5 ms for each ten watches that may get its event', t => {
  const {watches, work} = start();
  const pods = {group: '', resource: 'pods'};
  const add = (count: number, namespace: string, name: string) =>
    Array.from({length: count}, () => watches.add({...pods, namespace, name}));
  const forget = [...add(5, '', ''), ...add(4, 'a', '')];
  t.deepEqual(work('POST', '/api/v1/namespaces/a/pods'), {initialSeats: 1, finalSeats: 0, additionalLatencyMs: 0});
  add(3, 'a', 'x');
  t.deepEqual(work('PUT', '/api/v1/namespaces/a/pods/x'), {initialSeats: 1, finalSeats: 2, additionalLatencyMs: 5});
  t.is(work('PUT', '/api/v1/namespaces/a/pods/y').finalSeats, 0);
  t.is(work('PUT', '/api/v1/namespaces/b/pods/x').finalSeats, 0);
  t.is(work('GET', '/api/v1/namespaces/a/pods/x').finalSeats, 0);
  add(300, 'a', '');
  t.deepEqual(work('DELETE', '/api/v1/namespaces/a/pods/y'), {initialSeats: 1, finalSeats: 10, additionalLatencyMs: 15.5});
  t.deepEqual(work('PATCH', '/api/v1/namespaces/a/pods/y', 2), {initialSeats: 1, finalSeats: 2, additionalLatencyMs: 77.5});
  for (const end of forget) end();
  t.is(watches.interestedIn(requestInfo('POST', '/api/v1/namespaces/b/pods')), 0);
  watches.add({group: '', resource: 'serviceaccounts', namespace: '', name: ''});
  t.is(work('POST', '/api/v1/namespaces/a/serviceaccounts/b/token').finalSeats, 0);
});

const jane = aUser('jane');

test('the objects and watches of a server determine the seats', async t => {
  const {post, get, watch, clock, level, meter, stop} = await startFair(1000, {
    levels: [aLevel('all', {nominalConcurrencyShares: 95})],
    schemas: [aSchema('all', 'all', 100)],
    gate: name => ['WatchList', 'SizeBasedListCostEstimate'].includes(name),
  });
  const filler = 'x'.repeat(20_000);
  for (let index = 0; index < 15; index++) await post(configMaps, aConfigMap(`map-${index}`, {data: {filler}}), {user: jane});
  const labels = {priority_level: 'all', flow_schema: 'all'};
  const response = await get(configMaps, {user: jane});
  t.is(response.status, 200);
  const sum = async () => Number(/work_estimated_seats_sum\{.*flow_schema="all"\} (\d+)/.exec((await meter.exposition()).body)?.[1]);
  t.is(await sum(), 15 + 4, 'some 300 kB');
  t.is(meter.value('apiserver_flowcontrol_watch_count_samples', labels), 15);

  const streams = await Promise.all(Array.from({length: 20}, () => watch(`${configMaps}?watch=1&resourceVersion=1`, {user: jane})));
  await settled(clock);
  await post(configMaps, aConfigMap('with-watches'), {user: jane});
  t.is(level('all').queues.executing, 0);
  t.is(level('all').queues.seatsInUse, 2, 'its events are being sent');
  await clock.advance(5);
  t.is(level('all').queues.seatsInUse, 0);
  for (const stream of streams) stream[Symbol.dispose]();
  await post(configMaps, aConfigMap('without-watches'), {user: jane});
  t.is(level('all').queues.seatsInUse, 0);
  stop();
});

test('the pods of one node are watched by an index, and do not count', async t => {
  const {watch, post, level, clock, stop} = await startFair(1000, {
    levels: [aLevel('all', {nominalConcurrencyShares: 95})],
    schemas: [aSchema('all', 'all', 100)],
  });
  const pods = '/api/v1/namespaces/default/pods';
  const streams = await Promise.all(
    Array.from({length: 20}, (_, node) => watch(`/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn${node}`, {user: jane})),
  );
  await settled(clock);
  const pod = {metadata: {name: 'a'}, spec: {containers: [{name: 'a', image: 'a'}]}};
  t.is((await post(pods, pod, {user: jane})).status, 201);
  t.is(level('all').queues.seatsInUse, 0);
  for (const stream of streams) stream[Symbol.dispose]();
  stop();
});
