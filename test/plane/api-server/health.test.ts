import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {ServerHealth} from '#src/plane/api-server/health.js';
import {memoryStore} from '#src/storage/memory/index.js';

const healthOf = (clock: VirtualClock) =>
  new ServerHealth({
    clock,
    log: noLog,
    naming: naming('plat'),
    store: memoryStore({clock}),
    livezGraceMs: 10_000,
    healthTimeoutMs: 2000,
    readyTimeoutMs: 2000,
  });

test('liveness trusts unfinished hooks for the grace period, readiness does not', async t => {
  const clock = new VirtualClock();
  const health = healthOf(clock);
  let finish = () => {};
  const running = health.run([{name: 'slow', run: () => new Promise<void>(resolve => (finish = resolve))}]);
  const states = async () => [
    (await health.livez.all('livez')).status,
    (await health.readyz.all('readyz')).status,
    (await health.healthz.all('healthz')).status,
  ];

  t.deepEqual(await states(), [200, 500, 500]);
  await clock.advance(9999);
  t.deepEqual(await states(), [200, 500, 500]);
  await clock.advance(1);
  t.deepEqual(await states(), [500, 500, 500]);
  finish();
  await running;
  t.deepEqual(await states(), [200, 200, 200]);
});

test('a start hook runs once the hooks that it names have finished, each of which runs once', async t => {
  const clock = new VirtualClock();
  const health = healthOf(clock);
  const ran: string[] = [];
  let finish = () => {};
  const first = {name: 'first', run: () => new Promise<void>(resolve => (finish = resolve)).then(() => void ran.push('first'))};
  const later = ['second', 'third'].map(name => ({name, after: [first], run: async () => void ran.push(name)}));
  const running = health.run([...later, first, {name: 'free', run: async () => void ran.push('free')}]);
  const {body} = await health.readyz.all('readyz');

  t.deepEqual(ran, ['free']);
  t.deepEqual(
    [...body.matchAll(/poststarthook\/(second|third|first) (\w+)/g)].map(([, name, state]) => `${name} ${state}`),
    ['second failed', 'third failed', 'first failed'],
  );
  finish();
  await running;
  t.deepEqual(ran, ['free', 'first', 'second', 'third']);
  t.is((await health.readyz.all('readyz')).status, 200);
});
