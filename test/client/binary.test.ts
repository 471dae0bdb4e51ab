import test from 'ava';
import {firstValueFrom} from 'rxjs';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {isNotFound, notFound, unsupportedMediaType} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import {connectedClient} from '#src/client/connected.js';
import {Items} from '#src/client/items.js';
import {Frames} from '#src/client/frames.js';
import {cborCodec} from '#src/schema/cbor/codec.js';
import {decodeCbor, noLimits} from '#src/schema/cbor/decode.js';
import {cborEvent, encodeCbor} from '#src/schema/cbor/encode.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject, encodeWatchFrame} from '#src/schema/protobuf/encode.js';
import {connect} from '#src/transport/client/http-connection.js';
import {type TestServer, answering, json, serve} from '#test/serving/server.js';

const words = naming('kubernetes');
const type = words.protobufMediaType;

const cborType = 'application/cbor';

interface Seen {
  readonly method: string;
  readonly accept: string | undefined;
  readonly contentType: string | undefined;
  readonly sent: KubeObject | undefined;
}

/** A client that uses protobuf, and the requests its server receives. `respond` returns the responses. */
const anEnvironment = async (
  respond: (seen: Seen) => ReturnType<typeof json>,
  more: Partial<Parameters<typeof connectedClient>[1]> = {},
) => {
  const seen: Seen[] = [];
  const server: TestServer = await serve(
    answering(async ({method, body, headers}) => {
      const bytes = body?.kind === 'bytes' ? await body.read(100_000) : Buffer.alloc(0);
      const contentType = headers['content-type'] as string | undefined;
      const sent =
        contentType === type
          ? decodeObject(bytes, words)
          : contentType === cborType
            ? (decodeCbor(bytes, noLimits) as KubeObject)
            : bytes.length > 0
              ? (JSON.parse(bytes.toString()) as KubeObject)
              : undefined;
      seen.push({method, accept: headers['accept'] as string, contentType, sent});
      return respond(seen.at(-1)!);
    }),
  );
  const connection = await connect(
    {server: server.url, trust: {ca: {data: server.ca}}, identity: {}, source: 'test'},
    {clock: systemClock},
  );
  const client = connectedClient(connection, {
    clock: systemClock,
    meter: noMeter,
    naming: words,
    userAgent: 'tester',
    contentType: naming('plat').protobufMediaType,
    ...more,
  });
  return {
    client,
    seen,
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
};

const binary = (object: KubeObject, status = 200): ReturnType<typeof json> => ({
  status,
  headers: {},
  body: {kind: 'bytes', bytes: encodeObject({...object}, words), contentType: type},
});
const pod = {apiVersion: 'v1', kind: 'Pod', metadata: {namespace: 'x', name: 'a'}};
const metadata = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';

test('objects, lists and refusals go both ways in the words of the server, whichever naming the flag was given in', async t => {
  await using environment = await anEnvironment(({method}) => {
    if (method === 'DELETE') return binary(notFound({group: '', resource: 'pods'}, 'a').status as KubeObject, 404);
    return binary(
      method === 'GET'
        ? ({apiVersion: 'v1', kind: 'PodList', metadata: {resourceVersion: '7'}, items: [{metadata: {name: 'ü'}}]} as KubeObject)
        : pod,
    );
  });
  const pods = environment.client.resource(kinds.pods);

  t.like(await pods.create({metadata: {namespace: 'x', name: 'a'}, spec: {containers: []}}), {metadata: {name: 'a'}});
  await pods.update({metadata: {namespace: 'x', name: 'a'}, status: {phase: 'Running'}}, {subresource: 'status'});
  t.like((await pods.list()).items, [{metadata: {name: 'ü'}}]);
  t.true(isNotFound(await t.throwsAsync(pods.delete('a', {namespace: 'x', gracePeriodSeconds: 0}))));

  t.deepEqual(new Set(environment.seen.map(({accept}) => accept)), new Set([`${type},application/json`]));
  t.deepEqual(
    environment.seen.map(({contentType}) => contentType),
    [type, type, undefined, type],
  );
  t.like(environment.seen[1]!.sent, {...pod, status: {phase: 'Running'}} as KubeObject);
  t.like(environment.seen[3]!.sent, {kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0} as KubeObject);
});

test('bodies without a protobuf form go as JSON: patches, bodies without a kind, values of a wrong type, custom kinds', async t => {
  await using environment = await anEnvironment(() => json({...pod}));
  const {client} = environment;
  const pods = client.resource(kinds.pods);
  const widgets = client.resource({...kinds.pods, group: 'example', kind: 'Widget', plural: 'widgets'} as never);

  await pods.patch('a', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace: 'x'});
  await pods.create({metadata: {name: 'a'}} as KubeObject, {namespace: 'x', subresource: 'binding', name: 'a'});
  await pods.create({metadata: {namespace: 'x', name: 'a', labels: {a: 1 as never}}, spec: {containers: []}});
  await widgets.create({apiVersion: 'example.com/v1', kind: 'Widget', metadata: {namespace: 'x', name: 'a'}} as never);
  await client.request('GET', '/version');

  t.deepEqual(
    environment.seen.map(({contentType}) => contentType),
    ['application/merge-patch+json', 'application/json', 'application/json', 'application/json', undefined],
  );
  t.is(environment.seen[4]!.accept, 'application/json');
});

test('fields that every object of a kind has are present, even if empty', async t => {
  await using environment = await anEnvironment(() =>
    binary({apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSliceList', items: [{metadata: {name: 'a'}}]} as KubeObject),
  );
  t.like((await environment.client.resource(kinds.endpointSlices).list()).items, [{metadata: {name: 'a'}, endpoints: []}]);

  await using empty = await anEnvironment(() => binary({apiVersion: 'v1', kind: 'PodList'}));
  t.deepEqual((await empty.client.resource(kinds.pods).list()).items, []);
});

test('metadata alone is requested in protobuf too', async t => {
  await using environment = await anEnvironment(() =>
    binary({apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: {name: 'a'}}),
  );

  t.like(await environment.client.metadata(kinds.pods).get('a', {namespace: 'x'}), {kind: 'PartialObjectMetadata', metadata: {name: 'a'}});

  t.is(
    environment.seen[0]!.accept,
    `${type};${metadata},application/json;${metadata},application/json`.replaceAll(metadata, 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1'),
  );
});

for (const code of [415, 406]) {
  test(`a resource whose server answers ${code} to the binary form gets JSON from then on, and others do not`, async t => {
    await using environment = await anEnvironment(({accept, sent}) => {
      if (sent?.kind === 'Pod' && accept !== 'application/json') return json(unsupportedMediaType(['application/json']).status, code);
      return json({...sent});
    });
    const {client} = environment;
    const create = () => client.resource(kinds.pods).create({metadata: {namespace: 'x', name: 'a'}, spec: {containers: []}});

    t.is((await create()).metadata?.name, 'a');
    await create();
    await client.resource(kinds.configMaps).create({metadata: {namespace: 'x', name: 'a'}});

    t.deepEqual(
      environment.seen.map(({contentType}) => contentType),
      [type, 'application/json', 'application/json', type],
    );
  });
}

const widgetKind = {...kinds.pods, group: 'example', kind: 'Widget', plural: 'widgets'} as never;
const aWidget = {apiVersion: 'example.com/v1', kind: 'Widget', metadata: {namespace: 'x', name: 'a'}} as never;
const inCbor = (value: unknown): ReturnType<typeof json> => ({
  status: 200,
  headers: {},
  body: {kind: 'bytes', bytes: encodeCbor(value), contentType: cborType},
});

for (const [cbor, accept, custom] of [
  ['never', `${type},application/json`, 'application/json'],
  ['read', `${type},${cborType},application/json`, 'application/json'],
  ['written', `${type},${cborType},application/json`, cborType],
] as const) {
  test(`where CBOR is ${cbor}, custom kinds go as ${custom}, and others in their binary form`, async t => {
    await using environment = await anEnvironment(({sent}) => (cbor === 'never' ? json(sent) : inCbor(sent)), {cbor});

    t.like(await environment.client.resource(widgetKind).create(aWidget), {metadata: {name: 'a'}});
    await environment.client.resource(kinds.pods).create({metadata: {namespace: 'x', name: 'a'}, spec: {containers: []}});

    t.deepEqual(
      environment.seen.map(seen => [seen.accept, seen.contentType]),
      [
        [accept, custom],
        [accept, type],
      ],
    );
  });
}

test('a server that takes no CBOR gets JSON after one refusal', async t => {
  await using environment = await anEnvironment(
    ({contentType, sent}) => (contentType === cborType ? json(unsupportedMediaType(['application/json']).status, 415) : json(sent)),
    {cbor: 'written'},
  );
  const widgets = environment.client.resource(widgetKind);

  await widgets.create(aWidget);
  await widgets.create(aWidget);

  t.deepEqual(
    environment.seen.map(({contentType}) => contentType),
    [cborType, 'application/json', 'application/json'],
  );
});

test('a sequence of CBOR is cut into its events, in whatever pieces it comes', async t => {
  const codec = await cborCodec();
  const bytes = Buffer.concat(['a', 'b'].map(name => cborEvent('ADDED', encodeCbor({...pod, metadata: {name}}))));
  for (const size of [1, 7, bytes.length]) {
    const reported: unknown[] = [];
    const cutter = new Items(codec, item => reported.push(item));
    for (let at = 0; at < bytes.length; at += size) cutter.push(bytes.subarray(at, at + size));
    t.deepEqual(
      reported,
      ['a', 'b'].map(name => ({type: 'ADDED', object: {...pod, metadata: {name}}})),
    );
    t.false(cutter.isPartial);
  }
  t.throws(() => new Items(codec, () => {}).push(Buffer.of(0xff)), {message: /unexpected "break"/});
});

test('an answer that is damaged is an error, and so is a damaged event', async t => {
  const garbage = {status: 200, headers: {}, body: {kind: 'bytes', bytes: Buffer.from('nonsense'), contentType: type}} as const;
  await using environment = await anEnvironment(() => garbage);
  await t.throwsAsync(environment.client.resource(kinds.pods).get('a', {namespace: 'x'}), {
    message: /does not appear to be a protobuf message/,
  });

  await using other = await anEnvironment(() => ({
    ...garbage,
    body: {...garbage.body, bytes: Buffer.concat([Buffer.of(0, 0, 0, 1), Buffer.of(0xff)]), contentType: `${type};stream=watch`},
  }));
  await t.throwsAsync(firstValueFrom(other.client.resource(kinds.pods).watch()), {message: /unexpected EOF/});

  await using cut = await anEnvironment(() => ({
    ...garbage,
    body: {...garbage.body, bytes: Buffer.of(0, 0, 0, 9, 1), contentType: `${type};stream=watch`},
  }));
  await t.throwsAsync(firstValueFrom(cut.client.resource(kinds.pods).watch()), {message: /cut off within an event/});
});

test('frames come whole, in whatever pieces the bytes do', t => {
  const frames = ['a', 'b', 'c'].map(name => encodeWatchFrame('ADDED', encodeObject({...pod, metadata: {name}}, words)));
  const bytes = Buffer.concat(frames);
  for (const size of [1, 2, 3, 5, 64, bytes.length - 1, bytes.length]) {
    const reported: Buffer[] = [];
    const cutter = new Frames(frame => reported.push(Buffer.from(frame)));
    for (let at = 0; at < bytes.length; at += size) cutter.push(bytes.subarray(at, at + size));
    t.deepEqual(
      reported,
      frames.map(frame => frame.subarray(4)),
      `in pieces of ${size}`,
    );
    t.false(cutter.isPartial);
  }
  t.throws(() => new Frames(() => {}).push(Buffer.of(0xff, 0xff, 0xff, 0xff)), {message: /an event of 4294967295 bytes/});
});
