import {once} from 'node:events';
import test from 'ava';
import type {Authorizer} from '#src/api/authorization.js';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {isLongRunning, requestInfo} from '#src/apiserver/request/request-info.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aPlane} from '#test/controllers/plane.js';
import {readQuery} from '#src/recorder/query.js';
import {Recorder} from '#src/recorder/recorder.js';
import type {AdmissionRecord, RecordPage} from '#src/recorder/records.js';
import {readPage} from '#src/recorder/read.js';
import {recordStream} from '#src/recorder/stream.js';
import {Visible} from '#src/recorder/visible.js';

const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};

test('what built-in plugins change is recorded with the fields', async t => {
  const plane = await aPlane({controllers: ['serviceaccount-controller']});
  t.teardown(() => plane.stop());
  const client = plane.client();
  await client.create(kinds.pods, {metadata: {namespace: 'default', name: 'filled'}, spec: {containers: [{name: 'c', image: 'i'}]}});

  const decisions = ((await plane.api.clientAs(admin).request('GET', '/recorder/v1/records?kind=admission&name=filled')) as RecordPage)
    .records as readonly AdmissionRecord[];
  const changed = Object.fromEntries(decisions.filter(({decision}) => decision === 'changed').map(({plugin, fields}) => [plugin, fields]));

  t.like(changed, {
    ServiceAccount: ['spec.serviceAccountName', 'spec.serviceAccount', 'spec.volumes', 'spec.containers[].volumeMounts'],
    DefaultTolerationSeconds: ['spec.tolerations'],
    Priority: ['spec.priority', 'spec.preemptionPolicy'],
  });
});

/** A recorder, the stream of its records with whole objects, and what makes a record of 100 kB. */
const aStream = (maxBytes: number) => {
  const clock = new VirtualClock();
  const recorder = new Recorder({clock, maxBytes});
  const allowed = new Visible({authorize: () => ({decision: 'allow', reason: ''})} as unknown as Authorizer, admin, '/recorder/v1/records');
  const stream = recordStream({...readQuery(new URLSearchParams()), after: 0, objects: true}, {recorder, clock, visible: () => allowed});
  const after = Buffer.from(JSON.stringify({metadata: {name: 'large'}, data: {filler: 'x'.repeat(100_000)}}));
  let revision = 0;
  const record = (): void => {
    const object = {group: '', resource: 'configmaps', namespace: 'default', name: 'large'};
    recorder.change({kind: 'change', type: 'created', object, verb: 'create', revision: ++revision, user: 'u'}, {after, jsonFrom: 0});
  };
  return {stream, record};
};

test('what the reader of a stream does not read stays where it is recorded, and is sent once it reads', async t => {
  const {stream, record} = aStream(64 << 20);
  for (let count = 0; count < 100; count++) {
    record();
    await new Promise(setImmediate);
    t.true(stream.readableLength < 512 << 10, `${stream.readableLength} bytes`);
  }

  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.includes('\nid: 100\n') && text.endsWith('\n\n')) break;
  }
  t.deepEqual(
    [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)),
    Array.from({length: 100}, (_, at) => at + 1),
  );
});

test('the reader of a stream that has not read what is no longer kept is disconnected', async t => {
  const {stream, record} = aStream(4 << 20);
  const closed = once(stream, 'close');
  for (let count = 0; count < 60; count++) record();

  await closed;
  t.true(stream.destroyed);
});

test('a long state is kept as the memory of the store, counts towards the bound, and is read as any other', async t => {
  const clock = new VirtualClock();
  const recorder = new Recorder({clock, maxBytes: 4 << 20});
  const object = {group: '', resource: 'configmaps', namespace: 'default', name: 'long'};
  const states = Array.from({length: 2001}, (_, at) => {
    const state = Buffer.alloc(8000, ' ');
    state.write(JSON.stringify({metadata: {name: 'long'}, data: {at: String(at)}}), 8);
    return state;
  });
  let most = 0;
  for (let revision = 1; revision <= 2000; revision++) {
    const type = revision > 1 ? 'updated' : 'created';
    const [previous, before] = revision > 1 ? [revision - 1, states[revision - 1]] : [undefined, undefined];
    const report = {kind: 'change', type, object, verb: 'update', revision, previous, user: 'u'} as const;
    recorder.change(report, {before, after: states[revision], jsonFrom: 8});
    most = Math.max(most, recorder.info().bytes);
  }
  const query = {...readQuery(new URLSearchParams('kind=change&order=desc&objects=true'))};
  const {records} = await readPage(query, new URLSearchParams(), {recorder, clock});

  const copied = recorder.log.segments.reduce((sum, {memory}) => sum + (memory?.length ?? 0), 0);
  t.true(copied < 2 << 20, String(copied));
  t.true(most > 3 << 20 && most <= 4 << 20, String(most));
  t.like(records[0], {revision: '2000', changes: [{path: 'data.at', before: '1999', after: '2000'}], state: {data: {at: '2000'}}});
});

test('a plane that does not record has no paths of a recorder', async t => {
  const plane = await aPlane({controllers: ['serviceaccount-controller'], record: false});
  t.teardown(() => plane.stop());

  t.is(plane.recorder, undefined);
  await t.throwsAsync(plane.api.clientAs(admin).request('GET', '/recorder/v1'), {message: /could not find the requested resource/});
  await t.throwsAsync(plane.history(kinds.configMaps, 'default/x'), {message: 'history: the plane was started with record: false'});
});

test('a stream of records counts as long-running, a page of them does not', t => {
  const isLong = (url: string): boolean => isLongRunning(requestInfo('GET', url));

  t.deepEqual(['/recorder/v1/records?watch=1', '/recorder/v1/records', '/recorder/v1/objects?resource=pods'].map(isLong), [
    true,
    false,
    false,
  ]);
});
