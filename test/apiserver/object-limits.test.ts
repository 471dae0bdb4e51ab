import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {samples} from './samples.js';
import {aConfigMap, configMaps, csrs, settled, startWire} from './wire.js';

test('a dry run returns the result and stores nothing', async t => {
  const {post, put, patch, remove, get, watch, clock} = await startWire();
  const made = (await post(configMaps, aConfigMap('a'))).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${made.metadata?.resourceVersion}`);
  const created = await post(`${configMaps}?dryRun=All`, aConfigMap('b'));
  const updated = await put(`${configMaps}/a?dryRun=All`, aConfigMap('a', {data: {x: '1'}}));
  const patched = await patch(`${configMaps}/a?dryRun=All`, {data: {x: '2'}});
  const removed = await remove(`${configMaps}/a?dryRun=All`);
  const collected = await remove(`${configMaps}?dryRun=All`);
  await settled(clock);

  t.deepEqual(
    [created, updated, patched, removed, collected].map(({status}) => status),
    [201, 200, 200, 200, 200],
  );
  t.is(created.json().metadata?.resourceVersion, undefined);
  t.truthy(created.json().metadata?.uid);
  t.is(updated.json().metadata?.resourceVersion, made.metadata?.resourceVersion);
  t.deepEqual(
    (await get(configMaps)).json<KubeList<KubeObject>>().items.map(({metadata}) => metadata),
    [made.metadata],
  );
  t.deepEqual(stream.summaries, []);
});

test('a name that no store can hold is refused as invalid', async t => {
  const {post} = await startWire();
  const sample = samples(naming('plat'))['CertificateSigningRequest'];

  for (const name of ['a\0b', 'x'.repeat(3000)]) t.is((await post(csrs, {metadata: {name}, ...sample})).status, 422);
});

test('a GET waits for a version that is coming, and not for ever', async t => {
  const {post, get, clock} = await startWire();
  const made = (await post(configMaps, aConfigMap('a'))).json();
  const next = Number(made.metadata?.resourceVersion) + 1;
  const waiting = get(`${configMaps}/a?resourceVersion=${next}`);
  await clock.advance(100);
  await post(configMaps, aConfigMap('b'));
  await clock.advance(100);
  t.is((await waiting).status, 200);

  const vain = get(`${configMaps}/a?resourceVersion=${next + 100}`);
  await clock.advance(3100);
  t.like((await vain).json<Status>(), {
    code: 504,
    reason: 'Timeout',
    message: `Timeout: Too large resource version: ${next + 100}, current: ${next}`,
    details: {retryAfterSeconds: 1, causes: [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]},
  });
  t.is((await get(`${configMaps}/a?resourceVersion=0`)).status, 200);
  t.like((await get(`${configMaps}/a?resourceVersion=x`)).json<Status>(), {
    code: 500,
    reason: undefined,
    message: 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
  });
});

/** A map of many keys, whose owners take as much room as they, and a text that takes six bytes a letter. */
const aLargeMap = (letters: number) => ({
  ...aConfigMap('large', {
    data: {...Object.fromEntries(Array.from({length: 3000}, (_, i) => [`${i}`.padEnd(253, 'x'), ''])), text: '\u0001'.repeat(letters)},
  }),
});

const [fits, fitsAlone, fitsNot] = [200_000, 280_000, 400_000];

for (const [what, write] of [
  ['that replaces', ({put}: Awaited<ReturnType<typeof startWire>>, letters: number) => put(`${configMaps}/large`, aLargeMap(letters))],
  [
    'that patches',
    ({patch}: Awaited<ReturnType<typeof startWire>>, letters: number) =>
      patch(`${configMaps}/large`, {data: {text: '\u0001'.repeat(letters)}}),
  ],
] as const) {
  test(`a write ${what} drops managed fields where the object is too large with them`, async t => {
    const env = await startWire();
    t.is((await env.post(configMaps, aLargeMap(fits))).json().metadata?.managedFields?.length, 1);
    const written = await write(env, fitsAlone);

    t.is(written.status, 200);
    t.is(written.json().metadata?.managedFields, undefined);
    t.is((await env.get(`${configMaps}/large`)).json<{data: {text: string}}>().data.text.length, fitsAlone);
    const refused = await write(env, fitsNot);
    t.is(refused.status, 500);
    t.regex(refused.json<Status>().message ?? '', /^request is too large: /);
    t.is((await env.get(`${configMaps}/large`)).json<{data: {text: string}}>().data.text.length, fitsAlone);
  });
}

test('an object is made without the record of owners where it is too large with it, but not applied', async t => {
  const {post, patch} = await startWire();
  const applied = await patch(`${configMaps}/large?fieldManager=m`, aLargeMap(fitsAlone), {
    headers: {'content-type': 'application/apply-patch+yaml'},
  });

  t.is(applied.status, 500);
  t.regex(applied.json<Status>().message ?? '', /^request is too large: /);
  t.is((await post(configMaps, aLargeMap(fitsAlone))).json().metadata?.managedFields, undefined);
  t.is((await post(configMaps, {...aLargeMap(fitsNot), metadata: {name: 'larger'}})).status, 500);
});

test('whole numbers of 64 bits are stored, shown, patched and owned to the digit', async t => {
  const {post, get, put, patch, watch} = await startWire({namingName: 'kubernetes'});
  const path = '/apis/apps/v1/namespaces/default/controllerrevisions';
  const [one, digits, other] = [`${path}/r`, '9223372036854775807', '9007199254740993'];
  const text = `{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r"},"revision":${digits},"data":{"n":${digits}}}`;
  using stream = await watch(`${path}?watch=1`);
  const made = await post(path, Buffer.from(text));

  t.true(made.text.includes(`"data":{"n":${digits}}`) && made.text.includes(`"revision":${digits}`), made.text);
  t.is((await get(one)).text, made.text);
  for (const accept of ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf, application/yaml;q=0.1'])
    t.is((await get(one, {headers: {accept}})).status, 200, accept);
  t.regex((await get(one, {headers: {accept: 'application/yaml'}})).text, /\nrevision: 9223372036854775807\n/);
  t.true((await get(path)).text.includes(`"revision":${digits}`));
  t.true((await get(`${one}?pretty=1`)).text.includes(`"revision": ${digits}`));
  t.true(stream.lines[0]?.includes(digits));
  t.is((await put(one, Buffer.from(made.text))).text, made.text, 'what is sent back as it was changes nothing');
  const steps = Buffer.from(`[{"op":"test","path":"/revision","value":${digits}},{"op":"replace","path":"/revision","value":${other}}]`);
  t.true(
    (await patch(`${one}?dryRun=All`, steps, {headers: {'content-type': 'application/json-patch+json'}})).text.includes(
      `"revision":${other}`,
    ),
  );
  const wrong = Buffer.from(`[{"op":"test","path":"/revision","value":9223372036854775806}]`);
  t.is((await patch(one, wrong, {headers: {'content-type': 'application/json-patch+json'}})).status, 422);
  for (const type of ['merge-patch+json', 'strategic-merge-patch+json']) {
    t.true(
      (
        await patch(`${one}?dryRun=All`, Buffer.from(`{"revision":${other}}`), {headers: {'content-type': `application/${type}`}})
      ).text.includes(`"revision":${other}`),
      type,
    );
  }
  const applied = await patch(`${one}?fieldManager=m`, Buffer.from(text), {headers: {'content-type': 'application/apply-patch+yaml'}});
  t.deepEqual([applied.status, applied.text.includes(`"revision":${digits}`)], [200, true]);
  const conflict = await patch(`${one}?fieldManager=n`, Buffer.from(text.replace(digits, '9223372036854775806')), {
    headers: {'content-type': 'application/apply-patch+yaml'},
  });
  t.is(conflict.status, 409);
});

test('errors about an event name the group of the request', async t => {
  const {post, put, get, remove} = await startWire();
  const events = '/apis/events.plat.io/v1/namespaces/default/events';
  const event = {
    metadata: {name: 'e'},
    regarding: {namespace: 'default'},
    reason: 'r',
    action: 'a',
    type: 'Normal',
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'a/b',
    reportingInstance: 'i',
  };
  const made = (await post(events, event)).json<KubeObject>();
  const reported = [
    await post(events, event),
    await get(`${events}/x`),
    await remove(`${events}/x`),
    await put(`${events}/e`, {...made, metadata: {...made.metadata, resourceVersion: '1'}}),
    await put(`${events}/e`, {...made, metadata: {...made.metadata, uid: 'x'}}),
  ].map(received => received.json<Status>());

  for (const {message, details} of reported) {
    t.regex(message ?? '', /events\.events\.plat\.io "/);
    t.like(details, {group: 'events.plat.io', kind: 'events'});
  }
  t.like((await remove(`${events}/e`)).json<Status>().details, {group: 'events.plat.io', kind: 'events'});
  t.is((await get('/api/v1/namespaces/default/events/x')).json<Status>().message, 'events "x" not found');
  // Events are read from the store, which refuses a version that is none in its own way.
  t.like((await get(`${events}/e?resourceVersion=x`)).json<Status>(), {
    code: 400,
    message: 'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
  });
});
