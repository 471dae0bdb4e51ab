import test from 'ava';
import {pagesOf, type PagedBody} from '#src/api/request.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Store} from '#src/storage/store.js';
import {configMaps} from '#test/apiserver/wire.js';
import {one, startAudited} from './environment.js';

test('the event of a slow request has the times that it waited', async t => {
  const {get, log, clock} = await startAudited({
    authorizer: {
      async authorize({path}) {
        if (path === '/slow') await new Promise<void>(resolve => void clock.schedule(700, resolve));
        return {decision: 'allow'};
      },
    },
    routes: [{path: '/slow', handler: () => ({status: 200, headers: {}, body: {kind: 'empty'}})}],
  });

  const answered = get('/slow');
  await clock.advance(700);
  await answered;

  t.like(one(log).annotations, {'apiserver.latency.plat.io/authorization': '700ms', 'apiserver.latency.plat.io/total': '700ms'});
});

test('the event of a slow read has the time that it waited for the store', async t => {
  const clock = new VirtualClock();
  const memory = memoryStore({clock});
  let isSlow = false;
  const slowly = async <T>(read: () => T | Promise<T>): Promise<T> => {
    if (isSlow) await new Promise<void>(resolve => void clock.schedule(600, resolve));
    return read();
  };
  const store = new Proxy(memory, {
    get(target, member: keyof Store) {
      const own = target[member] as (...args: unknown[]) => unknown;
      if (typeof own !== 'function') return own;
      const called = (...args: unknown[]) => own.apply(target, args);
      return member === 'get' || member === 'range' ? (...args: unknown[]) => slowly(() => called(...args)) : called;
    },
  });
  const {get, post, log} = await startAudited({clock, store});
  await post(configMaps, {metadata: {name: 'one'}});
  for (const path of [`${configMaps}/one`, configMaps]) {
    log.lines = [];
    isSlow = true;
    const answered = get(path);
    await clock.advance(600);
    await answered;
    isSlow = false;

    t.like(one(log).annotations, {'apiserver.latency.plat.io/kvstore': '600ms', 'apiserver.latency.plat.io/total': '600ms'}, path);
  }
});

/** A clock on which everything takes time. */
class TickingClock extends VirtualClock {
  #ticks = 0;

  override monotonic(): number {
    return super.monotonic() + 5 * this.#ticks++;
  }
}

test('the event of a slow list in pages has the times that it took to read, decode, transform, encode and write', async t => {
  const clock = new TickingClock();
  const {server, post, log} = await startAudited({clock});
  for (let i = 0; i < 20; i++) await post(configMaps, {metadata: {name: `m${i}`}, data: {text: 'x'.repeat(40_000)}});
  log.lines = [];

  const {body} = await server.handler({
    method: 'GET',
    url: configMaps,
    headers: {accept: 'application/yaml'},
    caller: {user: {name: 'someone', groups: []}},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  for await (const _ of pagesOf(body as PagedBody));

  const layers = Object.keys(one(log).annotations ?? {}).flatMap(key => /^apiserver\.latency\.plat\.io\/(.*)$/.exec(key)?.[1] ?? []);
  t.deepEqual(layers.sort(), [
    'authorization',
    'decode-response-object',
    'kvstore',
    'response-write',
    'serialize-response-object',
    'total',
    'transform-response-object',
  ]);
});
