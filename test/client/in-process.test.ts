import test from 'ava';
import {firstValueFrom, lastValueFrom, toArray} from 'rxjs';
import type {ApiRequest, ApiResponse, WatchSink} from '#src/api/request.js';
import {kindOnWire, kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {StatusError, isGone, isNotFound, notFound, statusError} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {inProcessClient} from '#src/client/in-process.js';
import {yieldToEventLoop} from '#src/base/turn.js';

const user = {name: 'system:plat-controller-manager', groups: ['system:authenticated']};

const object = (value: unknown, status = 200): ApiResponse => ({
  status,
  headers: {},
  body: {kind: 'object', contentType: 'application/json', bytes: () => Buffer.from(JSON.stringify(value)), object: () => value},
});

const clientOf = (answer: (request: ApiRequest) => ApiResponse, seen: ApiRequest[] = []): Client =>
  inProcessClient(async request => (seen.push(request), answer(request)), {naming: naming('plat'), user, userAgent: 'tester'});

const valueOf = (request: ApiRequest | undefined): unknown => (request?.body?.kind === 'object' ? request.body.value : undefined);

test('every verb sends the path, query and body that the API prescribes', async t => {
  const seen: ApiRequest[] = [];
  const maps = clientOf(() => object({}), seen).resource(kinds.configMaps);
  const csrs = clientOf(() => object({}), seen).resource(kinds.certificateSigningRequests);

  await maps.get('a', {namespace: 'x', resourceVersion: '0'});
  await maps.list({labelSelector: 'a in (b,c)', limit: 5, continue: 'token'});
  await maps.create({metadata: {name: 'a', namespace: 'x'}, data: {k: 'v'}}, {dryRun: true, fieldManager: 'me'});
  await csrs.update({metadata: {name: 'r'}, spec: {request: '', signerName: 's'}}, {subresource: 'status'});
  await maps.patch('a', 'apply', {a: 1}, {namespace: 'x', fieldManager: 'me', force: true});
  await maps.delete('a', {namespace: 'x', preconditions: {uid: 'u'}, propagationPolicy: 'Background'});
  await maps.deleteCollection({namespace: 'x', fieldSelector: 'metadata.name=a'});

  t.deepEqual(
    seen.map(({method, url}) => `${method} ${url}`),
    [
      'GET /api/v1/namespaces/x/configmaps/a?resourceVersion=0',
      'GET /api/v1/configmaps?labelSelector=a%20in%20(b%2Cc)&limit=5&continue=token',
      'POST /api/v1/namespaces/x/configmaps?dryRun=All&fieldManager=me',
      'PUT /apis/certificates.plat.io/v1/certificatesigningrequests/r/status',
      'PATCH /api/v1/namespaces/x/configmaps/a?fieldManager=me&force=true',
      'DELETE /api/v1/namespaces/x/configmaps/a',
      'DELETE /api/v1/namespaces/x/configmaps?fieldSelector=metadata.name%3Da',
    ],
  );
  t.deepEqual(valueOf(seen[2]), {metadata: {name: 'a', namespace: 'x'}, data: {k: 'v'}, apiVersion: 'v1', kind: 'ConfigMap'});
  t.is(seen[4]!.headers['content-type'], 'application/apply-patch+yaml');
  t.deepEqual(valueOf(seen[5]), {kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', preconditions: {uid: 'u'}});
  t.is(valueOf(seen[6]), undefined);
  t.true(seen.every(request => request.inProcess && 'user' in request.caller && request.caller.user === user));
});

test('metadata is requested by its media type, for built-in kinds and for kinds known only at run time', async t => {
  const seen: ApiRequest[] = [];
  const client = clientOf(() => object({}), seen);
  const words = naming('plat');
  const widgets = client.metadata(
    kindOnWire(words, {group: 'example.com', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true}),
  );
  const accepted = (as: string) => `application/json;as=${as};g=meta.plat.io;v=v1,application/json`;

  await widgets.get('a', {namespace: 'x'});
  await widgets.list();
  await widgets.patch('a', 'merge', {}, {namespace: 'x'});
  widgets.watch().subscribe({error() {}});
  await client
    .metadata(kindOnWire(words, {group: 'storage.plat.io', version: 'v1', kind: 'CSINode', plural: 'csinodes', namespaced: false}))
    .get('n');

  t.deepEqual(
    seen.map(({method, url, headers}) => [method, url, headers.accept]),
    [
      ['GET', '/apis/example.com/v1/namespaces/x/widgets/a', accepted('PartialObjectMetadata')],
      ['GET', '/apis/example.com/v1/widgets', accepted('PartialObjectMetadataList')],
      ['PATCH', '/apis/example.com/v1/namespaces/x/widgets/a', accepted('PartialObjectMetadata')],
      ['GET', '/apis/example.com/v1/widgets?watch=true', accepted('PartialObjectMetadata')],
      ['GET', '/apis/storage.plat.io/v1/csinodes/n', accepted('PartialObjectMetadata')],
    ],
  );
});

// Alone, since it counts what JSON reads and writes meanwhile.
test.serial('large bodies are sent and read in pieces', async t => {
  const large = {
    metadata: {name: 'a', namespace: 'x', labels: {left: undefined}},
    data: Object.fromEntries(Array.from({length: 10_000}, (_, index) => [`key-${index}`, 'x'])),
  } as unknown as ConfigMap;
  const bytes = JSON.stringify(large);
  const seen: ApiRequest[] = [];
  const maps = clientOf(() => ({status: 200, headers: {}, body: {kind: 'bytes', contentType: 'application/json', bytes}}), seen).resource(
    kinds.configMaps,
  );
  const {parse, stringify} = JSON;
  const lengths: number[] = [];
  JSON.parse = ((text: string) => (lengths.push(text.length), parse(text) as unknown)) as typeof parse;
  JSON.stringify = ((value: unknown) => {
    const text = stringify(value);
    lengths.push(text?.length ?? 0);
    return text;
  }) as typeof stringify;
  const pending = maps.update(large);
  const answer = await pending.finally(() => Object.assign(JSON, {parse, stringify}));

  const [{body}] = seen as [ApiRequest];
  t.is(body?.kind, 'bytes');
  t.deepEqual(
    JSON.parse(String(body?.kind === 'bytes' && (await body.read(1 << 20)))),
    JSON.parse(JSON.stringify({...large, apiVersion: 'v1', kind: 'ConfigMap'})),
  );
  t.deepEqual(answer.data, large.data!);
  t.true(Math.max(...lengths) < bytes.length / 2);
});

test('a read returns the object of the server itself, a write copies it', async t => {
  const stored = Object.freeze({metadata: Object.freeze({name: 'a'})});
  const seen: ApiRequest[] = [];
  const maps = clientOf(() => object(stored), seen).resource(kinds.configMaps);
  const sent: ConfigMap = {...stored, metadata: {name: 'a', namespace: 'x', labels: Object.freeze({k: 'v'})}};

  const read = await maps.get('a', {namespace: 'x'});
  await maps.update(sent);

  t.is(read, stored);
  const received = valueOf(seen[1]) as ConfigMap;
  t.deepEqual(received.metadata, sent.metadata);
  t.not(received.metadata, sent.metadata);
  t.notThrows(() => Object.assign(received.metadata!.labels!, {more: 'x'}));
});

test('a refusal rejects with the status of the server', async t => {
  const maps = clientOf(() => object(notFound({group: '', resource: 'configmaps'}, 'a').status, 404)).resource(kinds.configMaps);

  const error = await t.throwsAsync(maps.get('a', {namespace: 'x'}));

  t.true(isNotFound(error));
  t.is(error?.message, 'configmaps "a" not found');
});

test('a refusal without a status gets the reason its code stands for', async t => {
  const client = clientOf(({url}) => ({
    status: url.includes('gone') ? 404 : 503,
    headers: {'Retry-After': '7'},
    body: {kind: 'bytes', bytes: '404 page not found', contentType: 'text/plain'},
  }));

  const missing = await t.throwsAsync<StatusError>(client.resource(kinds.configMaps).get('gone', {namespace: 'x'}));
  const busy = await t.throwsAsync<StatusError>(client.request('GET', '/readyz'));

  t.is(missing!.message, 'the server could not find the requested resource (get configmaps gone)');
  t.is(missing!.reason, 'NotFound');
  t.deepEqual(missing!.status.details?.causes, [{reason: 'UnexpectedServerResponse', message: '404 page not found'}]);
  t.is(busy!.reason, 'ServiceUnavailable');
  t.is(busy!.status.details?.retryAfterSeconds, 7);
});

test('a namespaced object is not requested without its namespace', async t => {
  const maps = clientOf(() => object({})).resource(kinds.configMaps);

  await t.throwsAsync(maps.get('a'), {message: 'an empty namespace may not be set when a resource name is provided'});
  await t.throwsAsync(maps.create({metadata: {name: 'a'}}), {message: 'an empty namespace may not be set during creation'});
});

const streaming = (start: (sink: WatchSink) => void, stopped: () => void = () => {}): ApiResponse => ({
  status: 200,
  headers: {},
  body: {kind: 'watch', contentType: 'application/json', start: sink => (start(sink), {[Symbol.dispose]: stopped})},
});

const event = (type: string, value: unknown) => ({type, bytes: () => Buffer.alloc(0), object: () => value});

test('a watch emits the objects of the server until it ends the stream', async t => {
  const value = {metadata: {name: 'a'}};
  const seen: ApiRequest[] = [];
  const maps = clientOf(
    () =>
      streaming(sink => {
        sink.event(event('ADDED', value));
        sink.event(event('BOOKMARK', {metadata: {resourceVersion: '9'}}));
        sink.end();
      }),
    seen,
  ).resource(kinds.configMaps);

  const events = await lastValueFrom(maps.watch({resourceVersion: '5', allowWatchBookmarks: true}).pipe(toArray()));

  t.deepEqual(
    events.map(({type}) => type),
    ['ADDED', 'BOOKMARK'],
  );
  t.is(events[0]!.object, value);
  t.is(seen[0]!.url, '/api/v1/configmaps?resourceVersion=5&watch=true&allowWatchBookmarks=true');
});

test('an ERROR event ends a watch with the status it carries', async t => {
  const {status} = statusError('Expired', 'too old resource version: 1 (5)');
  const maps = clientOf(() => streaming(sink => sink.event(event('ERROR', status)))).resource(kinds.configMaps);

  const error = await t.throwsAsync(lastValueFrom(maps.watch()));

  t.true(isGone(error));
});

test('a watch without a subscriber is closed', async t => {
  let stopped = 0;
  const seen: ApiRequest[] = [];
  const maps = clientOf(
    () =>
      streaming(
        sink => sink.event(event('ADDED', {})),
        () => stopped++,
      ),
    seen,
  ).resource(kinds.configMaps);

  await firstValueFrom(maps.watch());
  await new Promise(resolve => setImmediate(resolve));

  t.is(stopped, 1);
  t.true(seen[0]!.signal.aborted);
});

test('a map of very many keys that is sent is looked through once in a turn', async t => {
  let looks = 0;
  const data = new Proxy(Object.fromEntries(Array.from({length: 20_000}, (_, index) => [`key-${index}`, 'x'])), {
    ownKeys(target) {
      looks++;
      return Reflect.ownKeys(target);
    },
  });
  const seen: ApiRequest[] = [];
  const made = clientOf(() => object({}), seen)
    .resource(kinds.configMaps)
    .create({metadata: {name: 'a', namespace: 'x'}, data});
  const atEach = [looks];
  for (let hop = 0; hop < 50; hop++) await Promise.resolve();
  t.is(looks, 1, 'it is written in another turn');
  while (seen.length === 0) {
    await yieldToEventLoop();
    atEach.push(looks);
  }
  await made;

  t.deepEqual([...new Set(atEach)], [1, 2]); // Once to weigh it, and once to write it.
  const {body} = seen[0]!;
  t.is(
    body?.kind === 'bytes' ? (await body.read(2 ** 20)).toString() : '',
    JSON.stringify({metadata: {name: 'a', namespace: 'x'}, data, apiVersion: 'v1', kind: 'ConfigMap'}),
  );
});
