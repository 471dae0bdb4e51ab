import {PassThrough} from 'node:stream';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {inProcessConnection} from '#src/plane/component/in-process.js';
import {collectHttp1, UnreadBody} from '#src/serving/request-body.js';
import {kinds} from '#src/api/kinds/index.js';
import {aConfigMap, configMaps, settled} from '#test/apiserver/wire.js';
import {startAudited} from '#test/apiserver/audit/environment.js';
import {aLevel, aSchema, aUser, queuing, Slow, startFair} from './environment.js';

const jane = aUser('jane');
const narrow = aLevel('narrow', {nominalConcurrencyShares: 5, limitResponse: queuing(1, 1, 1), borrowingLimitPercent: 0});
const one = {levels: [narrow, aLevel('rest', {nominalConcurrencyShares: 40})], schemas: [aSchema('to-narrow', 'narrow', 500)]};

test('rejected requests are counted, and neither they nor the wait in a queue count as latency', async t => {
  const {get, slow, clock, meter, stop} = await startFair(10, one);
  const first = get('/slow/first', {user: jane});
  const second = get('/slow/second', {user: jane});
  await settled(clock);
  t.is((await get('/slow/third', {user: jane})).status, 429);
  await clock.advance(3000);
  slow.release();
  await first;
  await clock.advance(1000);
  slow.release();
  await second;

  const total = (code: string) => meter.value('apiserver_request_total', {verb: 'GET', resource: '', code});
  t.deepEqual([total('200'), total('429')], [2, 1]);
  t.is(meter.value('apiserver_request_terminations_total', {verb: 'GET', code: '429'}), 1);
  t.is(meter.value('apiserver_request_duration_seconds', {verb: 'GET', resource: ''}), 2);
  const {body} = await meter.exposition();
  const sum = (name: string) => Number(new RegExp(`^${name}_sum\\{verb="GET",.*resource="".*\\} (\\S+)$`, 'm').exec(body)?.[1]);
  t.is(sum('apiserver_request_duration_seconds'), 3 + 4);
  t.is(sum('apiserver_request_sli_duration_seconds'), 3 + 1);
  t.regex(body, /^apiserver_flowcontrol_request_wait_duration_seconds_sum\{.*execute="true"\} 3$/m);
  stop();
});

test('requests that wait and that are executed are counted by kind, as the maximum in the last second', async t => {
  const {get, slow, clock, meter, stop} = await startFair(10, one);
  const all = [get('/slow/first', {user: jane}), get('/slow/second', {user: jane})];
  await settled(clock);
  slow.release();
  await settled(clock);
  slow.release();
  await Promise.all(all);
  const values = () => ['inflight', 'inqueue'].map(what => meter.value(`apiserver_current_${what}_requests`, {request_kind: 'readOnly'}));

  await clock.advance(1000);
  t.deepEqual(values(), [1, 1]);
  await clock.advance(2000);
  t.deepEqual(values(), [0, 0]);
  stop();
});

test('the time that a level is in use is recorded by the nanosecond', async t => {
  const {get, slow, clock, meter, stop} = await startFair(10, one);
  const before = (await meter.exposition()).body;
  const request = get('/slow/first', {user: jane});
  await clock.advance(2500);
  slow.release();
  await request;
  await clock.advance(1500);
  const after = (await meter.exposition()).body;

  const read = (text: string, name: string, part: string) =>
    Number(new RegExp(`^apiserver_flowcontrol_${name}_${part}\\{(?=.*priority_level="narrow").*\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  for (const name of ['priority_level_seat_utilization', 'demand_seats']) {
    t.is(read(after, name, 'count') - read(before, name, 'count'), 4_000_000_000, name);
    t.is(read(after, name, 'sum') - read(before, name, 'sum'), 2_500_000_000, name);
  }
  t.regex(after, /^apiserver_flowcontrol_priority_level_request_utilization_count\{phase="executing",priority_level="narrow"\} \d+$/m);
  t.regex(after, /^apiserver_flowcontrol_read_vs_write_current_requests_sum\{phase="executing",request_kind="readOnly"\} \d/m);
  stop();
});

test('the metrics of the original are there', async t => {
  const {get, meter, stop} = await startFair(10, one);
  await get('/healthz', {user: jane});
  await get('/version', {user: jane});
  const {body} = await meter.exposition();
  const families = [...body.matchAll(/^# TYPE apiserver_flowcontrol_(\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);

  t.deepEqual(families.sort(), [
    'current_executing_requests gauge',
    'current_executing_seats gauge',
    'current_inqueue_requests gauge',
    'current_inqueue_seats gauge',
    'current_limit_seats gauge',
    'current_r gauge',
    'demand_seats histogram',
    'demand_seats_average gauge',
    'demand_seats_high_watermark gauge',
    'demand_seats_smoothed gauge',
    'demand_seats_stdev gauge',
    'dispatch_r gauge',
    'dispatched_requests_total counter',
    'epoch_advance_total counter',
    'latest_s gauge',
    'lower_limit_seats gauge',
    'next_discounted_s_bounds gauge',
    'next_s_bounds gauge',
    'nominal_limit_seats gauge',
    'priority_level_request_utilization histogram',
    'priority_level_seat_utilization histogram',
    'read_vs_write_current_requests histogram',
    'rejected_requests_total counter',
    'request_dispatch_no_accommodation_total counter',
    'request_execution_seconds histogram',
    'request_queue_length_after_enqueue histogram',
    'request_wait_duration_seconds histogram',
    'seat_fair_frac gauge',
    'target_seats gauge',
    'upper_limit_seats gauge',
    'watch_count_samples histogram',
    'work_estimated_seats histogram',
  ]);
  stop();
});

test('a component in the process of the server waits for its turn, however many of its requests there are', async t => {
  const {get, slow, clock, server, level, meter, stop} = await startFair(10, one);
  const {client} = inProcessConnection({
    role: 'scheduler',
    handler: server.handler,
    naming: naming('kubernetes'),
    clock,
    options: {platApiQps: 0, platApiBurst: 0},
    set: new Set(),
  });
  const all = [get('/slow/first', {user: jane}), get('/slow/second', {user: jane})];
  await settled(clock);
  const namespaces = client('test').resource(kinds.namespaces);
  const reading = Array.from({length: 50}, () => namespaces.get('default'));
  await settled(clock);
  t.is(level('narrow').queues.waiting, 51);
  await clock.advance(5000);
  slow.release();
  await settled(clock);
  slow.release();
  await Promise.all(all);

  t.true((await Promise.all(reading)).every(({metadata}) => metadata?.name === 'default'));
  t.is(meter.value('apiserver_flowcontrol_rejected_requests_total', {priority_level: 'narrow'}), undefined);
  stop();
});

test('a body that is complete waits for a seat, and counts towards the memory of bodies until then', async t => {
  const {get, slow, clock, server, meter, stop} = await startFair(10, one);
  const holding = get('/slow/first', {user: jane});
  await settled(clock);
  const stream = new PassThrough();
  const created = server.handler({
    method: 'POST',
    url: configMaps,
    headers: {},
    caller: {user: jane},
    remoteAddress: '127.0.0.1',
    body: new UnreadBody(stream, Number.NaN, collectHttp1),
    signal: new AbortController().signal,
  });
  const body = JSON.stringify(aConfigMap('waits'));
  stream.end(body);
  await settled(clock);
  t.is(meter.value('apiserver_incoming_body_bytes'), (16 << 10) + body.length);
  slow.release();

  t.is((await created).status, 201);
  t.is((await holding).status, 200);
  t.is(meter.value('apiserver_incoming_body_bytes'), 0);
  stop();
});

test('the audit event of a slow request has the time that it waited', async t => {
  const slow = new Slow();
  const {get, clock, server, log, clientOf} = await startAudited({flowControl: {seats: 10}, routes: [slow.route]});
  const client = clientOf({name: 'admin', groups: ['system:masters']});
  for (const level of one.levels) await client.resource(kinds.priorityLevelConfigurations).create(level);
  for (const schema of one.schemas) await client.resource(kinds.flowSchemas).create(schema);
  const following = new AbortController();
  await server.flowControl!.follow(server.registry, following.signal);
  const all = [get('/slow/first', {user: jane}), get('/slow/second', {user: jane})];
  await clock.advance(2000);
  slow.release();
  await clock.advance(500);
  slow.release();
  await Promise.all(all);

  const second = log.events.find(({stage, requestURI}) => stage === 'ResponseComplete' && requestURI === '/slow/second');
  t.like(second?.annotations, {'apiserver.latency.plat.io/apf-queue-wait': '2s', 'apiserver.latency.plat.io/total': '2.5s'});
  following.abort();
});
