import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {systemFiles} from '#src/base/files/files.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plugin, PluginHandler} from '#src/platlet/plugin-watcher/plugin-handler.js';
import {observePlugins} from '#src/platlet/plugin-watcher/metrics.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {PluginWatcher} from '#src/platlet/plugin-watcher/plugin-watcher.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {folderHost} from '#test/platlet/host.js';
import {FakePlugin, serveAt} from './fake-plugin.js';

/** Files that report no changes: only scans find them. */
const files = {...systemFiles, watch: () => ({[Symbol.dispose]() {}})};

/** A watcher of a folder, and what its handler of device plugins was called with. */
const aWatcher = async (handler: Partial<PluginHandler> = {}) => {
  const host = folderHost();
  const clock = new VirtualClock(0);
  const lifetime = new AbortController();
  const folder = join(host.root, 'plugins_registry');
  const calls: string[] = [];
  const noted = (what: keyof PluginHandler) => async (plugin: Plugin) => {
    calls.push(`${what} ${plugin.name} ${plugin.endpoint.replace(folder, '')} ${plugin.versions.join()}`);
    await handler[what]?.(plugin);
  };
  const handlers = {DevicePlugin: {validate: noted('validate'), register: noted('register'), deregister: noted('deregister')}};
  const watcher = new PluginWatcher({folder, handlers, host, files, clock, log: noLog, signal: lifetime.signal});
  const metrics = new MetricsRegistry();
  observePlugins(metrics, watcher);
  return {
    folder,
    clock,
    calls,
    start: () => watcher.start(),
    /** The series of its metric. */
    async metrics() {
      const {body} = await metrics.exposition();
      return body
        .split('\n')
        .filter(line => line.startsWith('plugin_manager_total_plugins{'))
        .map(line => line.replaceAll(folder, ''));
    },
    async scan() {
      await clock.advance(10_000);
      await clock.drain();
    },
    [Symbol.dispose]() {
      lifetime.abort();
      host[Symbol.dispose]();
    },
  };
};

const info = {type: 'DevicePlugin', name: 'vendor.example/gpu', supportedVersions: ['v1beta1']};

test('plugins are registered whose sockets are there, come later or are in a subfolder, and are told so', async t => {
  using watched = await aWatcher();
  const {folder, calls} = watched;
  await using there = await new FakePlugin(join(folder, 'there.sock'), info).start();
  await watched.start();
  await watched.scan();
  t.deepEqual(there.answers, ['registered']);
  t.deepEqual(calls.splice(0), ['validate vendor.example/gpu /there.sock v1beta1', 'register vendor.example/gpu /there.sock v1beta1']);

  await using deeper = await new FakePlugin(join(folder, 'vendor', 'late.sock'), {...info, endpoint: '/run/gpu.sock'}).start();
  await using hidden = await new FakePlugin(join(folder, '.hidden.sock'), info).start();
  await watched.scan();
  t.deepEqual(deeper.answers, ['registered']);
  t.deepEqual(hidden.answers, []);
  t.deepEqual(calls, ['validate vendor.example/gpu /run/gpu.sock v1beta1', 'register vendor.example/gpu /run/gpu.sock v1beta1']);
});

test('a plugin is deregistered when its socket goes, and registered again when there is a new one', async t => {
  using watched = await aWatcher();
  await using plugin = await new FakePlugin(join(watched.folder, 'a.sock'), info).start();
  await watched.start();
  await watched.scan();
  watched.calls.length = 0;
  await plugin.stop();
  await watched.scan();
  t.deepEqual(watched.calls.splice(0), ['deregister vendor.example/gpu /a.sock v1beta1']);

  await plugin.start();
  await watched.scan();
  await plugin.stop();
  await plugin.start();
  await watched.scan();
  t.deepEqual(
    watched.calls.map(call => call.split(' ')[0]),
    ['validate', 'register', 'deregister', 'validate', 'register'],
  );
  t.deepEqual(plugin.answers, ['registered', 'registered', 'registered']);
});

test('a plugin is told why it is refused, and tried again with a growing delay unless its registration failed', async t => {
  const wrong = {validate: true, register: true};
  const fail = (what: keyof typeof wrong) => () => {
    if (wrong[what]) throw new Error(`${what} says no`);
  };
  using watched = await aWatcher({validate: fail('validate'), register: fail('register')});
  await using plugin = await new FakePlugin(join(watched.folder, 'a.sock'), {...info, type: 'Other'}).start();
  await watched.start();
  await watched.clock.drain();
  t.deepEqual(plugin.answers.splice(0), [
    `RegisterPlugin error -- no handler registered for plugin type: Other at socket ${plugin.socket}`,
  ]);

  plugin.info = info;
  await watched.clock.advance(500);
  await watched.clock.drain();
  t.deepEqual(plugin.answers.splice(0), ['RegisterPlugin error -- plugin validation failed with err: validate says no']);

  wrong.validate = false;
  await watched.clock.advance(999);
  await watched.clock.drain();
  t.deepEqual(plugin.answers, []);
  await watched.clock.advance(1);
  await watched.clock.drain();
  t.deepEqual(plugin.answers.splice(0), ['RegisterPlugin error -- plugin registration failed with err: register says no']);

  wrong.register = false;
  await watched.clock.advance(600_000);
  await watched.clock.drain();
  t.deepEqual(plugin.answers, []);
});

test('plugins are counted by socket: those that are registered, and those that are to be', async t => {
  using watched = await aWatcher({
    validate({name}) {
      if (name.endsWith('/bad')) throw new Error('no');
    },
  });
  await using good = await new FakePlugin(join(watched.folder, 'a.sock'), info).start();
  await using _ = await new FakePlugin(join(watched.folder, 'b.sock'), {...info, name: 'vendor.example/bad'}).start();
  await watched.start();
  await watched.scan();
  const [actual, desired] = ['actual_state_of_world', 'desired_state_of_world'];
  const series = (socket: string, state: string) => `plugin_manager_total_plugins{socket_path="/${socket}.sock",state="${state}"} 1`;
  t.deepEqual(await watched.metrics(), [series('a', actual), series('a', desired), series('b', desired)]);
  await good.stop();
  await watched.scan();
  t.deepEqual(await watched.metrics(), [series('b', desired)]);
});

test('a gRPC server names the unknown, and ends its calls when it is disposed of', async t => {
  using host = folderHost();
  const socket = join(host.root, 'a.sock');
  const server = await serveAt(socket, {
    '/x.Y/Echo': async message => message,
    '/x.Y/Fail': () => Promise.reject(new Error('100 % wrong')),
    '/x.Y/Wait': (_, {signal}) => new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined))),
  });
  await using channel = new GrpcChannel({servers: [`unix://${socket}`], clock: new VirtualClock(0)});
  const call = (path: string) => channel.call(path, Buffer.from('hello'));
  t.is((await call('/x.Y/Echo')).toString(), 'hello');
  t.like(await t.throwsAsync(call('/x.Y/Other')), {code: 12, message: 'unknown method Other for service x.Y'});
  t.like(await t.throwsAsync(call('/z/Other')), {code: 12, message: 'unknown service z'});
  t.like(await t.throwsAsync(call('/x.Y/Fail')), {code: 2, message: '100 % wrong'});
  const waiting = t.throwsAsync(call('/x.Y/Wait'));
  await call('/x.Y/Echo');
  await server[Symbol.asyncDispose]();
  t.like(await waiting, {code: 14});
});
