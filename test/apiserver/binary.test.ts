import test from 'ava';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {decodeEnvelope, decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {WireReader} from '#src/schema/protobuf/wire-reader.js';
import {aDefinition, aWidget, startCustom, widgets} from './custom.js';
import {names, samples} from './samples.js';
import {aConfigMap, configMaps, settled, startWire} from './wire.js';

const words = naming('kubernetes');
const type = words.protobufMediaType;
const binary = {headers: {accept: type}};
const as = (kind: string, media: string): string => `${media};as=${kind};v=v1;g=meta.k8s.io`;

const env = await startWire({namingName: 'kubernetes', gate: name => name !== 'AllAlpha' && name !== 'CBORServingAndStorage'});
const {get, post, put, patch, remove} = env;
const read = <T = KubeObject>(bytes: Buffer): T => decodeObject(bytes, words) as T;

/** Empty and absent are one in the binary form. */
const withoutEmpty = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const left = Object.entries(value)
    .map(([key, each]) => [key, withoutEmpty(each)] as const)
    .filter(
      ([, each]) =>
        each !== null &&
        each !== '' &&
        each !== 0 &&
        each !== false &&
        !(typeof each === 'object' && Object.keys(each as object).length === 0),
    );
  return Object.fromEntries(left);
};

test('every built-in kind reads and writes protobuf as JSON, alone and in lists', async t => {
  const known = samples(words);
  const used = new Map<string, number>();
  for (const {
    kind,
    resource: {definition},
  } of env.server.registry.served) {
    if (definition.review || definition.virtual) continue;
    const group = words.group(kind.group);
    const collection = `${group ? `/apis/${group}` : '/api'}/${kind.version}/${kind.namespaced ? 'namespaces/default/' : ''}${kind.plural}`;
    const versions = used.get(kind.plural) ?? 0;
    used.set(kind.plural, versions + 1);
    const name = Object.values(names[kind.kind] ?? {})[versions] ?? `one-${versions}`;
    const made = await post(collection, {metadata: {name}, ...(known[`${group}/${kind.kind}`] ?? known[kind.kind])}, binary);
    t.deepEqual([made.status, made.type], [201, type], made.status === 201 ? '' : JSON.stringify(read(made.bytes)));
    const json = (await get(`${collection}/${name}`)).json();
    t.deepEqual(withoutEmpty(read(made.bytes)), withoutEmpty(json), collection);

    const list = await get(collection, binary);
    const {kind: _, apiVersion: __, ...item} = read(made.bytes);
    const {items, ...rest} = read<KubeList<KubeObject>>(list.bytes);
    t.like(rest, {kind: `${kind.kind}List`, apiVersion: json.apiVersion!});
    t.deepEqual(
      items.find(({metadata}) => metadata?.name === name),
      item as KubeObject,
      collection,
    );
  }
});

test('writes, results, refusals and metadata use the accepted media type', async t => {
  const one = `${configMaps}/written`;
  await post(configMaps, aConfigMap('written', {data: {a: 'b'}}));
  t.like(read((await put(one, aConfigMap('written', {data: {a: 'c'}}), binary)).bytes), {kind: 'ConfigMap', data: {a: 'c'}} as object);
  t.like(read((await patch(one, {data: {a: 'd'}}, {headers: {...binary.headers, 'content-type': 'application/merge-patch+json'}})).bytes), {
    data: {a: 'd'},
  } as object);
  const review = await post(
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    {spec: {nonResourceAttributes: {verb: 'get', path: '/x'}}},
    binary,
  );
  t.like(read(review.bytes), {kind: 'SelfSubjectAccessReview', status: {allowed: true}} as object);
  t.like(read((await get(one, {headers: {accept: as('PartialObjectMetadata', type)}})).bytes), {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {name: 'written'},
  });
  t.is(
    read<KubeList<KubeObject>>((await get(`${configMaps}?limit=1`, {headers: {accept: as('PartialObjectMetadataList', type)}})).bytes).kind,
    'PartialObjectMetadataList',
  );

  const missing = await get(`${configMaps}/none`, binary);
  t.deepEqual([missing.status, missing.type], [404, type]);
  t.like(read<Status>(missing.bytes), {kind: 'Status', reason: 'NotFound', details: {name: 'none', kind: 'configmaps'}});
  t.like(read<Status>((await remove(one, binary)).bytes), {kind: 'Status', status: 'Success', details: {kind: 'configmaps'}});
});

for (const [accept, expected] of [
  [`${type}, */*`, type],
  [`application/json;q=0.5, ${type}`, type],
  [`application/json, ${type}`, 'application/json'],
  [`${as('Table', type)}, ${as('Table', 'application/json')}`, 'application/json'],
  [`${naming('plat').protobufMediaType}, application/yaml`, 'application/yaml'],
] as const) {
  test(`Accept ${accept} returns ${expected}`, async t => {
    t.is((await get('/api/v1/namespaces/default', {headers: {accept}})).type, expected);
  });
}

test('an unsupported Accept header lists protobuf among the supported types', async t => {
  await get('/api/v1/namespaces/default', binary);

  t.is(
    (await get('/api/v1/namespaces/default', {headers: {accept: `text/html, ${as('Table', type)}`}})).json<Status>().message,
    `only the following media types are accepted: application/json, application/yaml, ${type}`,
  );
  t.is(
    (await get('/api/v1/namespaces/default', {headers: {accept: 'text/html'}})).json<Status>().message,
    `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ${type}`,
  );
  t.is(
    (await get(`${configMaps}?watch=1`, {headers: {accept: 'text/html'}})).json<Status>().message,
    `406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, ${type}, application/json;stream=watch, ${type};stream=watch`,
  );
});

test('discovery comes in the binary form', async t => {
  for (const path of ['/api', '/apis', '/apis/apps', '/apis/apps/v1', '/api/v1']) {
    const answer = await get(path, binary);
    t.is(answer.type, type);
    t.deepEqual(
      withoutEmpty(decodeObject(answer.bytes, words, {apiVersion: 'v1', kind: ''})),
      withoutEmpty({apiVersion: 'v1', ...(await get(path)).json<object>()}),
      path,
    );
  }
  const form = 'g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const answer = await get('/apis', {headers: {accept: `${type};${form}`}});
  t.is(answer.type, `${type};${form}`);
  t.deepEqual(withoutEmpty(read(answer.bytes)), withoutEmpty((await get('/apis', {headers: {accept: `application/json;${form}`}})).json()));
});

test('names of one naming are not decoded in protobuf of the other', async t => {
  const plat = await startWire();
  const binaryOfPlat = naming('plat').protobufMediaType;
  await plat.post(configMaps, aConfigMap('a'));

  t.is(
    (await plat.get(`${configMaps}/a`, {headers: {accept: `${as('PartialObjectMetadata', binaryOfPlat)},application/json`}})).type,
    'application/json',
  );
  t.is(
    (await plat.get('/apis', {headers: {accept: `${binaryOfPlat};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json`}}))
      .type,
    'application/json',
  );
});

for (const [what, body, text] of [
  ['nothing', Buffer.alloc(0), 'the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)'],
  [
    'the beginning alone',
    Buffer.from(words.envelopeMagic),
    'the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)',
  ],
  [
    'JSON',
    Buffer.from('{"kind":"ConfigMap"}'),
    'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"kind":"ConfigMap"})',
  ],
  [
    'an object cut off',
    Buffer.concat([Buffer.from(words.envelopeMagic), Buffer.of(10, 99)]),
    'the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a63)',
  ],
] as const) {
  test(`${what} in protobuf is refused`, async t => {
    const answer = await post(configMaps, body, {headers: {'content-type': `${type}; charset=utf-8`}});
    t.deepEqual([answer.status, answer.json<Status>().message], [400, text]);
  });
}

test('headers, watches and deletions of compiled clients are accepted', async t => {
  const both = `${type},application/json`;
  const headers = {accept: both, 'content-type': type, 'user-agent': 'e2e.test/v1.35.0 (linux/amd64) kubernetes/abc'};
  const made = await post(
    configMaps,
    encodeObject({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'compiled'}, data: {a: 'b'}}, words),
    {headers},
  );
  t.deepEqual([made.status, made.type], [201, type]);
  const one = `${configMaps}/compiled`;
  const {metadata} = read(made.bytes);
  t.like(
    read(
      (
        await put(
          one,
          encodeObject(
            {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'compiled', resourceVersion: metadata!.resourceVersion}, data: {a: 'c'}},
            words,
          ),
          {headers},
        )
      ).bytes,
    ),
    {data: {a: 'c'}} as object,
  );
  t.is((await patch(one, {data: {a: 'd'}}, {headers: {...headers, 'content-type': 'application/strategic-merge-patch+json'}})).type, type);
  t.is(
    (
      await patch(
        `${one}?fieldManager=me&force=true`,
        {apiVersion: 'v1', kind: 'ConfigMap', data: {b: 'c'}},
        {headers: {...headers, 'content-type': 'application/apply-patch+yaml'}},
      )
    ).type,
    type,
  );
  using stream = await env.watch(`${configMaps}?watch=true&resourceVersion=0&allowWatchBookmarks=true`, {
    headers: {accept: `${type};stream=watch,${type}`},
  });
  t.is(stream.type, `${type};stream=watch`);
  const options = encodeObject(
    {apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, propagationPolicy: 'Background', preconditions: {uid: metadata!.uid}},
    words,
  );
  t.like(read<Status>((await remove(one, {headers, body: options})).bytes), {kind: 'Status', status: 'Success'});
  t.like(
    read(
      (
        await post(
          '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          encodeObject(
            {
              apiVersion: 'authorization.k8s.io/v1',
              kind: 'SelfSubjectAccessReview',
              spec: {resourceAttributes: {verb: 'get', resource: 'pods'}},
            },
            words,
          ),
          {headers},
        )
      ).bytes,
    ),
    {status: {allowed: true}} as object,
  );
  const discovery =
    'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';
  t.is((await get('/apis', {headers: {accept: discovery}})).type, 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
});

/** The parts of a message whose fields have a length each. */
const partsOf = (bytes: Buffer, from = 0): Buffer[] => {
  const wire = new WireReader(bytes, from);
  const parts: Buffer[] = [];
  while (wire.at < bytes.length) {
    wire.tag(bytes.length);
    parts.push(wire.slice(wire.length(bytes.length)));
  }
  return parts;
};

/** The content of a frame of a stream. */
const readFrame = (frame: Buffer): {readonly type: string; readonly object: KubeObject & Partial<Status>} => {
  const [name, object] = partsOf(frame, 4);
  return {type: name!.toString(), object: read(partsOf(object!)[0]!)};
};

test('a watch in the binary form is a stream of frames that begin with their length', async t => {
  const {get, post, remove, watch, clock, store} = await startWire({namingName: 'kubernetes'});
  const {metadata} = (await post(configMaps, aConfigMap('before'))).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${metadata?.resourceVersion}&allowWatchBookmarks=1`, {
    headers: {accept: `${type}, */*`},
  });
  using plain = await watch(`${configMaps}?watch=1&resourceVersion=${metadata?.resourceVersion}`);
  await post(configMaps, aConfigMap('watched', {data: {a: 'b'}}));
  await remove(`${configMaps}/watched`);
  await settled(clock);
  await clock.advance(60_000);

  t.is(stream.type, `${type};stream=watch`);
  for (const frame of stream.frames) t.is(frame.readUInt32BE(0), frame.length - 4);
  const events = stream.frames.map(readFrame);
  t.deepEqual(
    events.map(event => event.type),
    ['ADDED', 'DELETED', 'BOOKMARK'],
  );
  t.like(events[0]!.object, {kind: 'ConfigMap', apiVersion: 'v1', metadata: {name: 'watched'}, data: {a: 'b'}} as object);
  t.deepEqual(plain.summaries, ['ADDED watched', 'DELETED watched'], 'watchers of one change do not share bytes across forms');

  await store.compact(Number(events[1]!.object.metadata!.resourceVersion));
  using gone = await watch(`${configMaps}?watch=1&resourceVersion=1`, {headers: {accept: type}});
  await settled(clock);
  t.like(readFrame(gone.frames[0]!), {type: 'ERROR', object: {kind: 'Status', code: 410, reason: 'Expired'}});
  t.is(decodeEnvelope((await get(configMaps, binary)).bytes, words).kind, 'ConfigMapList');
});

test('the defaults of a compiled controller work: leases and events in protobuf, custom resources in JSON, lists as streams', async t => {
  using env = await startCustom({namingName: 'kubernetes'});
  const headers = {
    accept: `${type}, application/json`,
    'content-type': type,
    'user-agent': 'manager/v0.0.0 (linux/amd64) kubernetes/$Format/leader-election',
  };
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {name: 'leader'},
    spec: {
      holderIdentity: 'me_1',
      leaseDurationSeconds: 15,
      acquireTime: '2024-01-02T03:04:05.678901Z',
      renewTime: '2024-01-02T03:04:05.678901Z',
      leaseTransitions: 0,
    },
  };
  const made = read((await env.post(leases, encodeObject(lease, words), {headers})).bytes);
  const renewed = {
    ...lease,
    metadata: {name: 'leader', resourceVersion: made.metadata!.resourceVersion},
    spec: {...lease.spec, renewTime: '2024-01-02T03:04:07.678902Z'},
  };
  t.like(read((await env.put(`${leases}/leader`, encodeObject(renewed, words), {headers})).bytes), {spec: renewed.spec} as object);
  t.is((await env.put(`${leases}/leader`, encodeObject(renewed, words), {headers})).status, 409);
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {name: 'e', namespace: 'default'},
    involvedObject: {kind: 'Widget', name: 'a', namespace: 'default'},
    reason: 'Done',
    message: 'done',
    type: 'Normal',
    count: 1,
    source: {component: 'manager'},
  };
  t.is((await env.post('/api/v1/namespaces/default/events', encodeObject(event, words), {headers})).status, 201);

  await env.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {...aDefinition(), apiVersion: 'apiextensions.k8s.io/v1'});
  await env.clock.drain();
  const json = {headers: {accept: 'application/json, */*', 'content-type': 'application/json'}};
  t.is((await env.post(widgets, aWidget('a'), json)).type, 'application/json');
  t.is((await env.get(widgets, {headers: {accept: `${type}, application/json`}})).type, 'application/json', 'they have no binary form');
  const applied = {headers: {...json.headers, 'content-type': 'application/apply-patch+yaml'}};
  t.is(
    (
      await env.patch(
        `${widgets}/a?fieldManager=manager&force=true`,
        aWidget('a', {}, {metadata: {name: 'a', labels: {of: 'it'}}}),
        applied,
      )
    ).status,
    200,
  );
  using stream = await env.watch(
    `${widgets}?allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&timeoutSeconds=400&watch=true`,
    json,
  );
  await settled(env.clock);
  t.deepEqual(
    stream.events.map(
      ({type: what, object}) => `${what} ${object.metadata?.annotations?.['k8s.io/initial-events-end'] ?? object.metadata?.name}`,
    ),
    ['ADDED a', 'BOOKMARK true'],
  );
  using metadata = await env.watch(`${widgets}?watch=true&resourceVersion=0`, {
    headers: {accept: `${as('PartialObjectMetadata', type)},${as('PartialObjectMetadata', 'application/json')},application/json`},
  });
  t.like(readFrame(metadata.frames[0]!), {
    type: 'ADDED',
    object: {kind: 'PartialObjectMetadata', metadata: {name: 'a', labels: {of: 'it'}}},
  } as object);
});
