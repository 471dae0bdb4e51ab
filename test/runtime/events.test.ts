import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {forbidden} from '#src/api/status.js';
import {noLog, type Log, type LogFields} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {Recorder} from '#src/runtime/events/events.js';
import {startServer} from '#test/fixtures/server.js';
import {FaultyClient} from './faulty-client.js';

const minute = 60_000;

const recording = (t: ExecutionContext, log: Log = noLog) => {
  const {clock, clientOf} = startServer();
  const client = new FaultyClient(clientOf());
  const life = new AbortController();
  t.teardown(() => life.abort());
  const recorder = new Recorder({client, clock, random: seededRandom(1), log, component: 'test-controller', signal: life.signal});
  const written = async () => {
    await clock.drain();
    return (await clientOf().resource(kinds.coreEvents).list()).items;
  };
  return {clock, client, recorder, written};
};

const aSecret = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {namespace: 'default', name, uid: `uid-of-${name}`, resourceVersion: '7'},
});

test('an event has its object, reason, and reporting component', async t => {
  const {recorder, written} = recording(t);

  recorder.warning(aSecret('s'), 'Broken', 'it broke');

  const [event] = await written();
  t.like(event, {
    type: 'Warning',
    reason: 'Broken',
    message: 'it broke',
    count: 1,
    involvedObject: {apiVersion: 'v1', kind: 'Secret', namespace: 'default', name: 's', uid: 'uid-of-s', resourceVersion: '7'},
    source: {component: 'test-controller'},
    reportingComponent: 'test-controller',
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
  });
  t.is(event?.metadata?.namespace, 'default');
  t.regex(event?.metadata?.name ?? '', /^s\.[0-9a-f]+$/);
});

test('an event about an object without a namespace goes to the default one', async t => {
  const {recorder, written} = recording(t);

  recorder.normal({apiVersion: 'v1', kind: 'Node', metadata: {name: 'n', uid: 'u'}}, 'Seen', 'seen');

  t.is((await written())[0]?.metadata?.namespace, 'default');
});

test('the same event again raises the count of the first', async t => {
  const {recorder, clock, client, written} = recording(t);
  recorder.normal(aSecret('s'), 'Seen', 'seen');
  await clock.advance(5000);

  recorder.normal(aSecret('s'), 'Seen', 'seen');
  recorder.normal(aSecret('other'), 'Seen', 'seen');

  const events = await written();
  t.deepEqual(events.map(({involvedObject, count}) => `${involvedObject.name} ${count}`).sort(), ['other 1', 's 2']);
  const counted = events.find(({count}) => count === 2);
  t.is(counted?.firstTimestamp, '2026-01-01T00:00:00Z');
  t.is(counted?.lastTimestamp, '2026-01-01T00:00:05Z');
  t.deepEqual(client.calls, ['create events', 'patch events', 'create events']);
});

test('the tenth message of a kind within ten minutes and all after it become one event', async t => {
  const {recorder, written} = recording(t);

  for (let index = 1; index <= 15; index++) recorder.normal(aSecret('s'), 'Seen', `seen ${index}`);

  const events = await written();
  t.is(events.length, 10);
  const combined = events.find(({message}) => message?.startsWith('(combined from similar events): '));
  t.is(combined?.message, '(combined from similar events): seen 15');
  t.is(combined?.count, 6);
});

test('messages more than ten minutes apart stay apart', async t => {
  const {recorder, clock, written} = recording(t);

  for (let index = 1; index <= 12; index++) {
    recorder.normal(aSecret('s'), 'Seen', `seen ${index}`);
    await clock.advance(10 * minute + 1);
  }

  t.is((await written()).filter(({message}) => message?.startsWith('(combined')).length, 0);
});

test('after more than 25 events of one object, a source is throttled and records again after five minutes, once', async t => {
  const {recorder, clock, client} = recording(t);
  const writes = () => client.calls.length;

  for (let index = 0; index < 40; index++) recorder.normal(aSecret('s'), `Reason${index}`, 'm');
  recorder.normal(aSecret('other'), 'Reason', 'm');
  await clock.drain();
  t.is(writes(), 26);
  await clock.advance(5 * minute);
  for (let index = 50; index < 53; index++) recorder.normal(aSecret('s'), `Reason${index}`, 'm');
  await clock.drain();

  t.is(writes(), 27);
});

test('a server that is unreachable is tried twelve times, ten seconds apart', async t => {
  const {recorder, clock, client, written} = recording(t);
  client.always(() => new Error('connection refused'));

  recorder.normal(aSecret('s'), 'Seen', 'seen');
  await clock.advance(10 * minute);
  t.is(client.calls.length, 12);
  client.always(undefined);
  recorder.normal(aSecret('s'), 'Seen', 'seen');

  t.is((await written())[0]?.count, 1);
});

test('an outage shorter than that loses nothing', async t => {
  const {recorder, clock, client, written} = recording(t);
  client.always(() => new Error('connection refused'));
  recorder.normal(aSecret('s'), 'Seen', 'seen');
  recorder.normal(aSecret('t'), 'Seen', 'seen');
  await clock.advance(30_000);

  client.always(undefined);
  await clock.advance(30_000);

  t.is((await written()).length, 2);
});

test('refused events are dropped at once', async t => {
  const {recorder, clock, client, written} = recording(t);
  client.fail('create events', forbidden({group: '', resource: 'events'}, '', 'no'));

  recorder.normal(aSecret('s'), 'Seen', 'seen');
  await clock.advance(minute);

  t.is(client.calls.length, 1);
  t.deepEqual(await written(), []);
});

test('a counted event that is gone is written again', async t => {
  const {recorder, clock, client, written} = recording(t);
  recorder.normal(aSecret('s'), 'Seen', 'seen');
  await clock.drain();
  await client.resource(kinds.coreEvents).deleteCollection({namespace: 'default'});

  recorder.normal(aSecret('s'), 'Seen', 'seen');

  t.is((await written())[0]?.count, 2);
});

test('more than a thousand waiting events are dropped, not kept', async t => {
  const {recorder, clock, client} = recording(t);
  client.always(() => new Error('connection refused'));
  for (let index = 0; index < 1500; index++) recorder.normal(aSecret(`s${index}`), 'Seen', 'seen');
  client.always(undefined);

  await clock.advance(minute);

  t.true(client.calls.length <= 1003, `${client.calls.length}`);
});

test('events that are dropped take two lines of the log, however many they are', async t => {
  const lines: unknown[] = [];
  const log: Log = {
    ...noLog,
    warn: (fields: LogFields | string, message?: string) => void lines.push([(fields as LogFields)['count'], message]),
  };
  const {recorder, clock} = recording(t, log);

  for (let index = 0; index < 1500; index++) recorder.normal(aSecret(`s${index}`), 'Seen', 'seen');
  await clock.drain();

  const [first, last] = [
    'too many events wait to be written; further ones are dropped',
    'events were dropped, since too many were waiting to be written',
  ];
  t.deepEqual(lines, [
    [undefined, first],
    [499, last],
  ]);
});
