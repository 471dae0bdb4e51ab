import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Store} from '#src/storage/store.js';
import {configMaps} from '#test/apiserver/wire.js';
import {one, startAudited} from './environment.js';

test('a slow request tells what it waited for', async t => {
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

test('a slow read tells how long it waited for the store', async t => {
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
