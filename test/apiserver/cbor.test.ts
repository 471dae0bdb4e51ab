import test from 'ava';
import {pagesOf} from '#src/api/request.js';
import {naming} from '#src/api/naming.js';
import type {Status} from '#src/api/status.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {decodeCbor, nextItem, noLimits} from '#src/schema/cbor/decode.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {aDefinition, aVersion, aWidget, startCustom, widgets} from './custom.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';
import {names, samples} from './samples.js';
import {aConfigMap, admin, configMaps, settled, startWire} from './wire.js';

const words = naming('kubernetes');
const type = 'application/cbor';
const cbor = {headers: {accept: type}};
const sent = {headers: {accept: type, 'content-type': type}};
const read = <T = KubeObject>(bytes: Buffer): T => decodeCbor(bytes, noLimits) as T;

const env = await startWire({namingName: 'kubernetes', gate: name => name !== 'AllAlpha'});
const {get, post, put, patch, remove} = env;

test('every built-in kind reads and writes CBOR as JSON, alone and in lists', async t => {
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
    const made = await post(collection, encodeCbor({metadata: {name}, ...(known[`${group}/${kind.kind}`] ?? known[kind.kind])}), sent);
    t.deepEqual([made.status, made.type], [201, type], made.status === 201 ? '' : JSON.stringify(read(made.bytes)));
    const json = (await get(`${collection}/${name}`)).json();
    t.deepEqual(read(made.bytes), json, collection);

    const list = read<KubeList<KubeObject>>((await get(collection, cbor)).bytes);
    t.deepEqual(list, (await get(collection)).json() as unknown as KubeList<KubeObject>, collection);
  }
});

test('a large list in CBOR comes in pages, with the bytes of the list at once', async t => {
  const large = '/api/v1/namespaces/large/configmaps';
  await post('/api/v1/namespaces', {metadata: {name: 'large'}});
  for (let i = 10; i < 40; i++) await post(large, aConfigMap(`m${i}`, {metadata: {name: `m${i}`}, data: {text: `${i}`.repeat(20_000)}}));
  const pagesIn = async (accept: string): Promise<Buffer[]> => {
    const {body} = await env.server.handler({
      method: 'GET',
      url: large,
      headers: {accept},
      caller: {user: admin},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    if (body.kind !== 'pages') throw new Error(`one page of kind ${body.kind}`);
    const pages: Buffer[] = [];
    for await (const page of pagesOf(body)) pages.push(page);
    return pages;
  };
  for (const accept of [type, `${type};as=Table;v=v1;g=meta.k8s.io`]) {
    const pages = await pagesIn(accept);
    const {metadata} = read(Buffer.concat(pages));
    const whole = (
      await get(`${large}?resourceVersionMatch=Exact&resourceVersion=${metadata!.resourceVersion}`, {
        headers: {accept: accept.replace(type, 'application/json')},
      })
    ).json();

    t.true(pages.length > 10 && pages.every(page => page.length < 200 << 10));
    t.true(Buffer.concat(pages).equals(encodeCbor(whole)), accept);
  }
});

test('bytes go as bytes and come as the base64 they are in JSON', async t => {
  const {bytes} = await post('/api/v1/namespaces/default/secrets', {metadata: {name: 'bytes'}, data: {k: 'AQID', l: ''}}, cbor);

  t.true(bytes.includes(Buffer.of(0x41, 0x6b, 0xd6, 0x43, 1, 2, 3)));
  t.like(read(bytes), {kind: 'Secret', data: {k: 'AQID', l: ''}} as object);
  const tagged = Buffer.concat([
    encodeCbor({metadata: {name: 'tagged'}}).subarray(0, 3),
    Buffer.of(0xa2),
    encodeCbor('metadata').subarray(3),
    encodeCbor({name: 'tagged'}).subarray(3),
    encodeCbor('data').subarray(3),
    Buffer.of(0xa1, 0x41, 0x6b, 0xd6, 0x43, 1, 2, 3),
  ]);
  t.like((await post('/api/v1/namespaces/default/secrets', tagged, {headers: {'content-type': type}})).json(), {
    data: {k: 'AQID'},
  } as object);
});

test('writes, patches, applies, deletions, refusals, tables and metadata come in CBOR', async t => {
  const one = `${configMaps}/written`;
  await post(configMaps, encodeCbor(aConfigMap('written', {data: {a: 'b'}})), sent);
  t.like(read((await put(one, encodeCbor(aConfigMap('written', {data: {a: 'c'}})), sent)).bytes), {data: {a: 'c'}} as object);
  t.like(read((await patch(one, {data: {a: 'd'}}, {headers: {...cbor.headers, 'content-type': 'application/merge-patch+json'}})).bytes), {
    data: {a: 'd'},
  } as object);
  const intent = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'applied'}, data: {a: 'e'}};
  const applied = await patch(`${configMaps}/applied?fieldManager=me`, encodeCbor(intent), {
    headers: {...cbor.headers, 'content-type': 'application/apply-patch+cbor'},
  });
  t.is(applied.status, 201);
  t.like(read(applied.bytes), {
    data: {a: 'e'},
    metadata: {managedFields: [{manager: 'me', operation: 'Apply', fieldsV1: {'f:data': {'f:a': {}}}}]},
  } as object);
  const as = (kind: string) => ({headers: {accept: `${type};as=${kind};v=v1;g=meta.k8s.io`}});
  t.like(read((await get(one, as('PartialObjectMetadata'))).bytes), {kind: 'PartialObjectMetadata', metadata: {name: 'written'}});
  t.like(read((await get(configMaps, as('Table'))).bytes), {kind: 'Table', apiVersion: 'meta.k8s.io/v1'});
  t.like(read<Status>((await get(`${configMaps}/none`, cbor)).bytes), {kind: 'Status', reason: 'NotFound', code: 404});
  const gone = await remove(one, {...sent, body: encodeCbor({kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All']})});
  t.like(read<Status>(gone.bytes), {kind: 'Status', status: 'Success'});
  t.is((await get(one)).status, 200);
});

test('custom resources read and write CBOR, and no other binary type', async t => {
  using env = await startCustom({gate: name => name === 'CBORServingAndStorage'});
  await env.define(
    aDefinition([
      aVersion({spec: {properties: {size: {type: 'integer'}, ratio: {type: 'number'}, raw: {type: 'string', format: 'byte'}}}}),
    ]),
  );
  const body = encodeCbor(aWidget('a', {size: 2, ratio: 0.5, raw: 'AQID', odd: 1}));

  const made = await env.post(widgets, body, sent);
  t.deepEqual([made.status, made.type], [201, type]);
  t.deepEqual((read(made.bytes) as {spec?: unknown}).spec, {size: 2, ratio: 0.5, raw: 'AQID'});
  t.true(made.bytes.includes('AQID'), 'bytes of a definition are text without the definition');
  t.like(read(await env.get(widgets, cbor).then(({bytes}) => bytes)), {kind: 'WidgetList', items: [{metadata: {name: 'a'}}]} as object);
  t.is(
    (await env.patch(`${widgets}/b?fieldManager=me`, encodeCbor(aWidget('b')), {headers: {'content-type': 'application/apply-patch+cbor'}}))
      .status,
    201,
  );

  const {protobufMediaType} = naming('plat');
  t.is((await env.get(widgets, {headers: {accept: `${protobufMediaType},application/json`}})).type, 'application/json');
  const metadata = await env.get(`${widgets}/a`, {
    headers: {accept: `${protobufMediaType};as=PartialObjectMetadata;g=meta.plat.io;v=v1,application/json`},
  });
  t.is(metadata.type, protobufMediaType);
  t.like(decodeObject(metadata.bytes, naming('plat')), {kind: 'PartialObjectMetadata', metadata: {name: 'a'}});
  t.like((await env.post(widgets, Buffer.of(1), {headers: {'content-type': protobufMediaType}})).json<Status>(), {
    code: 415,
    message:
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/cbor',
  });
});

for (const [accept, expected] of [
  ['application/cbor, application/json', type],
  ['application/json;q=0.9, application/cbor;q=1', type],
  ['application/json, application/cbor', 'application/json'],
  ['application/cbor;q=0.1, */*', 'application/json'],
  ['application/cbor-seq, application/yaml', 'application/yaml'],
] as const) {
  test(`Accept ${accept} returns ${expected}`, async t => {
    t.is((await get('/api/v1/namespaces/default', {headers: {accept}})).type, expected);
  });
}

test('a watch is a sequence of items', async t => {
  const {get, post, remove, watch, clock} = await startWire({namingName: 'kubernetes', gate: name => name === 'CBORServingAndStorage'});
  const {metadata} = (await post(configMaps, aConfigMap('before'))).json();
  using stream = await watch(`${configMaps}?watch=1&resourceVersion=${metadata?.resourceVersion}`, cbor);
  using plain = await watch(`${configMaps}?watch=1&resourceVersion=${metadata?.resourceVersion}`);
  await post(configMaps, aConfigMap('watched', {data: {a: 'b'}}));
  await remove(`${configMaps}/watched`);
  await settled(clock);

  t.is(stream.type, 'application/cbor-seq');
  const bytes = Buffer.concat(stream.frames);
  t.deepEqual([...bytes.subarray(0, 16)], [0xd9, 0xd9, 0xf7, 0xa2, ...Buffer.from('\x44type\x45ADDED'), 0x46]);
  const reported: unknown[] = [];
  for (let next = nextItem(bytes, 0); next; next = nextItem(bytes, next.end)) {
    reported.push(next.value);
    if (next.end === bytes.length) break;
  }
  t.deepEqual(reported, plain.events as unknown[]);
  t.is(
    (await get(`${configMaps}?watch=1`, {headers: {accept: 'application/cbor-seq'}})).json<Status>().message,
    '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
  );
});

const bad = (bytes: Buffer | string, headers = sent.headers) =>
  post(configMaps, typeof bytes === 'string' ? Buffer.from(bytes) : bytes, {headers: {...headers, accept: 'application/json'}});

for (const [what, bytes, text] of [
  [
    'what is cut off',
    Buffer.of(0xa1, 0x44),
    'the object provided is unrecognized (must be of type ConfigMap): unable to determine group/version/kind: unexpected EOF (a144)',
  ],
  [
    'nothing at all',
    Buffer.alloc(0),
    'the object provided is unrecognized (must be of type ConfigMap): unable to determine group/version/kind: EOF (<empty>)',
  ],
  [
    'a list',
    Buffer.of(0x80),
    'the object provided is unrecognized (must be of type ConfigMap): unable to determine group/version/kind: cbor: cannot unmarshal array into Go value of type v1.TypeMeta (80)',
  ],
  [
    'a key that is there twice',
    Buffer.of(0xa2, 0x41, 0x61, 1, 0x61, 0x61, 2),
    'the object provided is unrecognized (must be of type ConfigMap): unable to determine group/version/kind: cbor: found duplicate map key "a" at map element index 1 (a2416101616102)',
  ],
] as const) {
  test(`${what} is refused`, async t => {
    const answer = await bad(bytes);
    t.deepEqual([answer.status, answer.json<Status>().message], [400, text]);
  });
}

test('unknown fields are refused or warned of', async t => {
  const body = encodeCbor({...aConfigMap('strict'), nonsense: 1});

  t.regex(
    (await post(`${configMaps}?fieldValidation=Strict`, body, {headers: {'content-type': type}})).json<Status>().message!,
    /strict decoding error: unknown field "nonsense"/,
  );
  t.is(
    (
      await patch(`${configMaps}/strict?fieldManager=me`, Buffer.of(0xff), {headers: {'content-type': 'application/apply-patch+cbor'}})
    ).json<Status>().message,
    'error decoding CBOR: cbor: unexpected "break" code',
  );
});

test('without its gate there is no CBOR', async t => {
  const {get, post, patch} = await startWire({namingName: 'kubernetes'});

  t.is(
    (await get(configMaps, cbor)).json<Status>().message,
    '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
  );
  t.like((await post(configMaps, encodeCbor(aConfigMap('x')), {headers: {'content-type': type}})).json<Status>(), {
    code: 415,
    message:
      'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  });
  t.is((await patch(`${configMaps}/x`, encodeCbor({}), {headers: {'content-type': 'application/apply-patch+cbor'}})).status, 415);
});
