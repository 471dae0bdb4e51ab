import test from 'ava';
import {pagesOf, type PagedBody, type WatchSink} from '#src/api/request.js';
import type {KubeList, KubeObject} from '#src/api/types.js';
import {StatusError} from '#src/api/status.js';
import {caches} from '#src/base/cache-bound.js';
import {yieldInTurn} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {kinds} from '#src/api/kinds/index.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {RangeQuery} from '#src/storage/store.js';
import {aDefinition} from './custom.js';
import {aConfigMap, admin, configMaps, settled, startWire, words} from './wire.js';

type List = KubeList<KubeObject>;

/**
 * A server with 40 config maps of 40 kB each, the odd ones with a label, and a record of the ranges read from its
 * store.
 */
const start = async () => {
  const clock = new VirtualClock();
  const store = memoryStore({clock});
  const ranges: RangeQuery[] = [];
  const range = store.range.bind(store);
  store.range = query => (ranges.push(query), range(query));
  const counted: string[] = [];
  const count = store.count.bind(store);
  store.count = (from, end, revision) => (counted.push(from), count(from, end, revision));
  const env = await startWire({clock, store});
  const made: KubeObject[] = [];
  for (let i = 10; i < 50; i++)
    made.push(
      (
        await env.post(
          configMaps,
          aConfigMap(`m${i}`, {metadata: {name: `m${i}`, labels: {odd: String(i % 2 === 1)}}, data: {text: `${i}`.repeat(20_000)}}),
        )
      ).json(),
    );
  const open = async (query: string, headers: Record<string, string> = {}, signal = new AbortController().signal): Promise<PagedBody> => {
    const {body} = await env.server.handler({
      method: 'GET',
      url: `${configMaps}?${query}`,
      headers,
      caller: {user: admin},
      remoteAddress: '',
      signal,
    });
    if (body.kind !== 'pages') throw new Error(`one page of kind ${body.kind}`);
    return body;
  };
  ranges.length = 0;
  counted.length = 0;
  return {...env, made, open, ranges, counted, last: made.at(-1)!.metadata!.resourceVersion!};
};

const textOf = async (body: PagedBody): Promise<string> => {
  let text = '';
  for await (const page of pagesOf(body)) text += page.toString();
  return text;
};

const bytesIn = async (body: PagedBody): Promise<Buffer[]> => {
  const pages: Buffer[] = [];
  for await (const page of pagesOf(body)) pages.push(page);
  return pages;
};

test('a list of many pages has the bytes of the list at once, in every form', async t => {
  const {get, made} = await start();
  const items = made.map(object => Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'kind' && name !== 'apiVersion')));
  const plain = await get(configMaps);
  const list = plain.json<PlainObject>();

  t.is(plain.text, `${JSON.stringify(list)}\n`);
  t.deepEqual(list['items'], items as unknown);
  const pretty = await get(`${configMaps}?pretty=true`);
  t.is(pretty.text, `${JSON.stringify(pretty.json(), undefined, 2)}\n`);
  t.deepEqual(pretty.json<PlainObject>(), list);
  t.is((await get(configMaps, {headers: {accept: 'application/yaml'}})).text, yamlText(list));
  const binary = await get(configMaps, {headers: {accept: words.protobufMediaType}});
  t.is(binary.type, words.protobufMediaType);
  t.true(binary.bytes.equals(loadedCodec()!.encodeObject(list, words)));
  for (const shape of ['Table;v=v1;g=meta.plat.io', 'PartialObjectMetadataList;v=v1;g=meta.plat.io']) {
    const shown = await get(`${configMaps}?includeObject=Object`, {headers: {accept: `application/json;as=${shape}`}});
    t.is(shown.text, `${JSON.stringify(shown.json())}\n`);
    const {rows, items: partial} = shown.json<{rows?: unknown[]; items?: unknown[]}>();
    t.is((rows ?? partial)?.length, 40);
  }
});

test.serial('a list in protobuf is read and encoded once, and its parts are kept until they are sent', async t => {
  const {open, ranges} = await start();
  const accept = {accept: words.protobufMediaType};
  const keptBytes = () => caches().find(({name}) => name === 'list_parts')!.bytes;

  const body = await open('', accept);
  await body.next();
  const reads = ranges.length;
  t.true(keptBytes() > 0);
  await bytesIn(body);
  t.is(ranges.length, reads);
  t.is(keptBytes(), 0);

  const abandoned = await open('', accept);
  await abandoned.next();
  abandoned.close();
  t.is(keptBytes(), 0);
});

test('a list is of one revision whatever is written while it is sent, and no page is large', async t => {
  const {open, remove, post, put, made, last} = await start();
  const body = await open('');
  const pages = [await body.next()];
  await remove(`${configMaps}/m49`);
  await post(configMaps, aConfigMap('m48a'));
  await put(`${configMaps}/m47`, aConfigMap('m47'));
  pages.push(...(await bytesIn(body)));
  const list = JSON.parse(Buffer.concat(pages as Buffer[]).toString()) as List;

  t.is(list.metadata?.resourceVersion, last);
  t.deepEqual(
    list.items.map(({metadata}) => [metadata!.name, metadata!.resourceVersion]),
    made.map(({metadata}) => [metadata!.name, metadata!.resourceVersion]),
  );
  t.true(pages.length > 4);
  t.true(pages.every(page => page!.length < 300 << 10));
});

test('a consumer of objects gets the whole list', async t => {
  const {open, made} = await start();
  const {items} = (await (await open('')).object()) as List;

  t.deepEqual(
    items.map(({metadata}) => metadata),
    made.map(({metadata}) => metadata),
  );
});

test('a large page with a limit counts the rest, and continues after it', async t => {
  const {open, get} = await start();
  const first = JSON.parse(await textOf(await open('limit=36'))) as List;
  const rest = (await get(`${configMaps}?limit=36&continue=${first.metadata?.continue}`)).json<List>();

  t.is(first.items.length, 36);
  t.is(first.metadata?.remainingItemCount, 4);
  t.deepEqual(
    rest.items.map(({metadata}) => metadata!.name),
    ['m46', 'm47', 'm48', 'm49'],
  );
  const odd = (await get(`${configMaps}?labelSelector=odd%3Dtrue&limit=19`)).json<List>();
  const last = (await get(`${configMaps}?labelSelector=odd%3Dtrue&limit=19&continue=${odd.metadata?.continue}`)).json<List>();
  t.deepEqual([odd.items.length, last.items.map(({metadata}) => metadata!.name), last.metadata?.continue], [19, ['m49'], undefined]);
  t.is(odd.metadata?.remainingItemCount, undefined);
});

test.serial('a limited page that is long is read once, and kept until it is sent', async t => {
  const {open, ranges} = await start();
  const keptBytes = () => caches().find(({name}) => name === 'list_records')!.bytes;

  const body = await open('limit=36');
  const reads = ranges.length;
  t.true(keptBytes() > 300_000);
  t.is((JSON.parse(await textOf(body)) as List).items.length, 36);
  t.is(ranges.length, reads);
  t.is(keptBytes(), 0);

  const abandoned = await open('limit=36');
  t.true(keptBytes() > 0);
  abandoned.close();
  t.is(keptBytes(), 0);
});

test('a page is written to the memory of one that its reader gave back, and no other', async t => {
  const {open, made} = await start();
  const readBack = async (gives: boolean): Promise<{texts: string[]; memory: Set<ArrayBufferLike>}> => {
    const body = await open('');
    const [texts, memory]: [string[], Set<ArrayBufferLike>] = [[], new Set()];
    for (let page = await body.next(); page; page = await body.next()) {
      texts.push(page.toString());
      memory.add(page.buffer);
      if (gives) body.reuse!(page);
    }
    return {texts, memory};
  };
  const [kept, reused] = [await readBack(false), await readBack(true)];

  t.is(reused.texts.join(''), kept.texts.join(''));
  t.is((JSON.parse(kept.texts.join('')) as List).items.length, made.length);
  t.true(kept.memory.size > 4);
  t.true(reused.memory.size < 4);
});

test('the rest is counted for the first page, and known from it for the next ones', async t => {
  const {get, remove, counted} = await start();
  const remaining: (number | undefined)[] = [];
  for (let token = ''; remaining.length === 0 || token !== '';) {
    const {metadata} = (await get(`${configMaps}?limit=10&continue=${token}`)).json<List>();
    remaining.push(metadata?.remainingItemCount);
    token = metadata?.continue ?? '';
    await remove(`${configMaps}/m4${remaining.length}`);
  }
  t.deepEqual(remaining, [30, 20, 10, undefined]);
  t.is(counted.filter(from => from.includes('configmaps')).length, 1);
});

test('the rest is counted at the revision at which the list began', async t => {
  const {get, remove} = await start();
  const first = (await get(`${configMaps}?limit=10`)).json<List>();
  for (const name of ['m40', 'm41']) await remove(`${configMaps}/${name}`);
  const second = (await get(`${configMaps}?limit=10&continue=${first.metadata?.continue}`)).json<List>();

  t.is(first.metadata?.remainingItemCount, 30);
  t.is(second.metadata?.remainingItemCount, 20);
});

test('a list is read as it is sent, and no further once it is closed', async t => {
  const {open, ranges} = await start();
  const body = await open('');
  await body.next();
  await body.next();
  const read = ranges.length;
  t.true(read < 4);
  body.close();

  t.is(await body.next(), undefined);
  t.is(ranges.length, read);
});

test('a selection stops when its caller is gone, and a list when its time is up', async t => {
  const {server, clock, ranges, open} = await start();
  const gone = new AbortController();
  const answer = server.handler({
    method: 'GET',
    url: `${configMaps}?labelSelector=no%3Done`,
    headers: {},
    caller: {user: admin},
    remoteAddress: '',
    signal: gone.signal,
  });
  await yieldInTurn();
  gone.abort();
  t.is((await answer).status, 504);
  t.true(ranges.length < 4);

  ranges.length = 0;
  const body = await open('timeout=5s');
  await body.next();
  await clock.advance(5000);
  const error = await t.throwsAsync(body.next(), {instanceOf: StatusError});
  t.like(error.status, {code: 504, message: 'Timeout: request did not complete within the allotted timeout'});
  t.true(ranges.length < 4);
});

test('many lists of one user delay each piece of a list of another by one piece', async t => {
  const {server, ranges} = await start();
  const list = async (name: string): Promise<void> => {
    const {body} = await server.handler({
      method: 'GET',
      url: configMaps,
      headers: {},
      caller: {user: {...admin, name}},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    for await (const _ of pagesOf(body as PagedBody));
  };
  const greedy = Array.from({length: 20}, () => list('greedy'));
  let all = 0;
  await list('modest').then(() => (all = ranges.length));
  await Promise.all(greedy);

  // The first pieces of all are read at once; then one of the others for each of its own.
  t.true(ranges.length > 100);
  t.true(all < ranges.length / 2, `${all} of ${ranges.length}`);
});

test('the server reads collections for its own use in pieces, too', async t => {
  const {server, ranges, post} = await start();
  await post('/apis/apiextensions.plat.io/v1/customresourcedefinitions', aDefinition());
  const {registry} = server;
  const received: string[] = [];
  const following = new AbortController();
  ranges.length = 0;
  await listAndWatchKind(registry, kinds.configMaps, ({metadata}) => void received.push(metadata!.name!), following.signal);
  const read = await registryReader(registry).list(kinds.configMaps);
  await server.custom.follow(following.signal);
  await post('/api/v1/namespaces/default/services', {metadata: {name: 's'}, spec: {ports: [{port: 80}]}});
  following.abort();

  t.deepEqual([received.length, read.length], [40, 40]);
  t.true(ranges.length > 10);
  t.deepEqual(
    ranges.filter(({bytes, limit}) => bytes === undefined && limit === undefined),
    [],
  );
});

test('others have their turn between the pieces of a selection, a table and the state a watch begins with', async t => {
  const {get, server} = await start();
  const turnsDuring = async (act: () => Promise<unknown>): Promise<number> => {
    let turns = 0;
    let done = false;
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await act();
    done = true;
    return turns;
  };
  const headers = {accept: 'application/json;as=Table;v=v1;g=meta.plat.io'};
  const watchOf = async (tables: boolean) => {
    const {body} = await server.handler({
      method: 'GET',
      url: `${configMaps}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`,
      headers: tables ? headers : {},
      caller: {user: admin},
      remoteAddress: '',
      signal: new AbortController().signal,
    });
    if (body.kind !== 'watch') throw new Error('no watch');
    const types: string[] = [];
    await new Promise<void>(resolve => {
      const sink: WatchSink = {
        event: ({type}) => (types.push(type), type === 'BOOKMARK' && resolve(), true),
        drained: () => Promise.resolve(),
        end() {},
      };
      body.start(sink);
    });
    t.deepEqual(types, [...Array.from({length: 40}, () => 'ADDED'), 'BOOKMARK']);
  };

  t.true((await turnsDuring(() => get(`${configMaps}?labelSelector=no%3Done`))) > 3);
  t.true((await turnsDuring(() => get(configMaps, {headers}))) > 3);
  t.true((await turnsDuring(() => watchOf(false))) > 3);
  t.true((await turnsDuring(() => watchOf(true))) > 3);
});

test('a watch sends its initial state at one revision, and then the later writes', async t => {
  const {server, remove, post, clock} = await start();
  const reported: string[] = [];
  const {body} = await server.handler({
    method: 'GET',
    url: `${configMaps}?watch=1`,
    headers: {},
    caller: {user: admin},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  if (body.kind !== 'watch') return t.fail();
  const sink: WatchSink = {
    event: event => (reported.push(`${event.type} ${(event.object() as KubeObject).metadata!.name}`), true),
    drained: () => Promise.resolve(),
    end() {},
  };
  using _ = body.start(sink);
  const before = reported.length;
  await remove(`${configMaps}/m49`);
  await post(configMaps, aConfigMap('m0'));
  await settled(clock);

  t.true(before < 40);
  t.deepEqual(reported.slice(38), ['ADDED m48', 'ADDED m49', 'DELETED m49', 'ADDED m0']);
});

test('deleting a large collection returns the deleted items', async t => {
  const {remove, get, made} = await start();
  const {items} = (await remove(configMaps)).json<List>();

  t.deepEqual(
    items.map(({metadata}) => metadata!.uid),
    made.map(({metadata}) => metadata!.uid),
  );
  t.deepEqual((await get(configMaps)).json<List>().items, []);
});
