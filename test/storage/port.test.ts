import {MessageChannel} from 'node:worker_threads';
import test from 'ava';
import {memoryStore} from '#src/storage/memory/index.js';
import {StoreHost} from '#src/storage/port/host.js';
import type {FromStore, ToStore} from '#src/storage/port/messages.js';
import {PortStore} from '#src/storage/port/store.js';
import type {Store} from '#src/storage/store.js';
import {storeSuite} from './suite.js';

storeSuite(test, {
  name: 'port',
  isShared: true,
  async open(clock): Promise<Store> {
    const {port1, port2} = new MessageChannel();
    const store = memoryStore({clock});
    const host = new StoreHost(store, message => port1.postMessage(message));
    const user = new PortStore(message => port2.postMessage(message));
    port1.on('message', (message: ToStore) => host.receive(message));
    port2.on('message', (message: FromStore) => user.receive(message));
    return new Proxy(user, {
      get: (target, name) => {
        if (name === 'close')
          return async () => {
            await target.close();
            host[Symbol.dispose]();
            port1.close();
            await store.close();
          };
        if (name === 'compact') return (revision: number) => store.compact(revision);
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
      },
    });
  },
});
