import test from 'ava';
import {once} from 'node:events';
import net from 'node:net';
import {connect, type TLSSocket} from 'node:tls';
import {yieldToEventLoop} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {converting, createManager, defaulting, validating, type KubeObject} from '#src/operator/index.js';
import {startServer} from '#test/fixtures/server.js';
import {Backup, path, serve} from './webhooks-port.js';

/** A clock on which timers are virtual and work takes the time that it takes. */
class MeasuringClock extends VirtualClock {
  override monotonic(): number {
    return performance.now();
  }
}

/** Returns the CPU time, in ms, that work takes: on a busy machine the wall clock says more than that. */
const cpuOf = async (work: () => unknown): Promise<number> => {
  const before = process.cpuUsage();
  await work();
  const {user, system} = process.cpuUsage(before);
  return (user + system) / 1000;
};

/** Runs an action and returns the most CPU time that one turn of the event loop took meanwhile. */
const longestTurn = async (action: () => Promise<unknown>): Promise<number> => {
  const over = new AbortController();
  let longest = 0;
  const ended = action().finally(() => over.abort());
  while (!over.signal.aborted) longest = Math.max(longest, await cpuOf(yieldToEventLoop));
  await ended;
  return longest;
};

/** Some 5 MB in many values. */
const items = Array.from({length: 60_000}, (_, number) => ({
  name: `item-${number}`,
  labels: {app: 'backup', number: `${number}`},
  ports: [1, 2, 3],
}));

test('large reviews are read, compared and answered without holding up the event loop', async t => {
  const {send} = await serve(
    t,
    [defaulting(Backup, ({spec}) => void (spec.keep = 7)), converting(Backup, {hub: 'v1', versions: {v2: {toHub() {}, fromHub() {}}}})],
    new MeasuringClock(),
  );
  const object = {apiVersion: 'example.com/v1', kind: 'Backup', metadata: {name: 'b'}, spec: {items}};
  const admission = Buffer.from(
    JSON.stringify({apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: {uid: 'u1', operation: 'CREATE', object}}),
  );
  const conversion = Buffer.from(
    JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: {uid: 'u1', desiredAPIVersion: 'example.com/v2', objects: [object]},
    }),
  );
  const atOnce = await cpuOf(() => structuredClone(JSON.parse(admission.toString())));
  let answers: Awaited<ReturnType<typeof send>>[] = [];
  const turns: number[] = [];
  // One run of some: the garbage collector works in any turn.
  for (let run = 0; run < 5 && !(Math.min(...turns) < atOnce / 2); run++)
    turns.push(
      await longestTurn(async () => {
        answers = [await send('/mutate-example-com-v1-backup', admission), await send('/convert', conversion)];
      }),
    );

  t.true(Math.min(...turns) < atOnce / 2, `${turns.join(', ')} ms in slices, and ${atOnce} ms at once`);
  const [defaulted, converted] = answers.map(({text}) => (JSON.parse(text) as {response: Record<string, unknown>}).response);
  t.deepEqual(JSON.parse(Buffer.from(defaulted!['patch'] as string, 'base64').toString()), [{op: 'add', path: '/spec/keep', value: 7}]);
  const convertedObjects = converted!['convertedObjects'] as KubeObject[];
  t.deepEqual([convertedObjects.length, convertedObjects[0]!.apiVersion], [1, 'example.com/v2']);
  t.log(`${admission.length} bytes: ${turns.map(Math.round).join(', ')} ms in slices, ${Math.round(atOnce)} ms at once`);
});

test('beyond fifty requests of a webhook in progress, further ones are refused until one has ended', async t => {
  const answers: (() => void)[] = [];
  const {review, send, manager} = await serve(t, [
    validating(Backup, () => new Promise(resolve => answers.push(() => resolve([])))),
    defaulting(Backup, () => {}),
  ]);
  const held = Array.from({length: 50}, () => review({spec: {}}));
  while (answers.length < 50) await yieldToEventLoop();

  const refused = await send(path, '{}');
  t.is(refused.status, 429);
  t.regex(refused.text, /too many requests to this webhook are in progress/);
  t.is((await review({spec: {}}, '/mutate-example-com-v1-backup')).response['allowed'], true);
  t.true((await manager.metrics()).body.includes(`controller_runtime_webhook_requests_in_flight{webhook="${path}"} 50`));

  answers.splice(0).forEach(answer => answer());
  t.true((await Promise.all(held)).every(({response}) => response['allowed'] === true));
  const after = review({spec: {}});
  while (answers.length === 0) await yieldToEventLoop();
  answers[0]!();
  t.is((await after).response['allowed'], true);
});

test('a manager that stops lets requests in progress end, and cuts those off that do not', async t => {
  const answers: (() => void)[] = [];
  const {clock, send, stop, ended} = await serve(t, [validating(Backup, () => new Promise(resolve => answers.push(() => resolve([]))))]);
  const body = JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {uid: 'u1', operation: 'CREATE', object: {spec: {}}},
  });
  const sent = [send(path, body), send(path, body)];
  const outcomes = Promise.allSettled(sent);
  while (answers.length < 2) await yieldToEventLoop();
  stop.abort();
  answers[0]!();

  t.is((await Promise.race(sent)).status, 200);
  const ends: unknown[] = [];
  void ended.then(outcome => ends.push(outcome));
  while (ends.length === 0) {
    await yieldToEventLoop();
    await clock.advance(1000);
  }
  t.deepEqual(ends, ['stopped']);
  t.deepEqual((await outcomes).map(({status}) => status).sort(), ['fulfilled', 'rejected']);
});

test('a manager that is stopped while it opens its webhooks has stopped, and has no port', async t => {
  const {clock, clientOf} = startServer();
  const stop = new AbortController();
  const certificate = {secret: 'hooks', namespace: 'default'};
  const webhooks = {handlers: [defaulting(Backup, () => {})], certificate, bindAddress: '127.0.0.1', port: 0};
  const manager = createManager({controllers: [], client: clientOf(), clock, webhooks});
  const ended = manager.run(stop.signal);
  stop.abort();
  await clock.drain();
  t.is(await ended, 'stopped');
  await t.throwsAsync(async () => manager.webhookPort, {message: 'the manager was stopped'});
});

/** Begins requests whose bodies do not come, each on a connection of its own. */
const slowBodies = async (port: number, count: number, to: string): Promise<TLSSocket[]> => {
  const sockets = Array.from({length: count}, () => connect({host: '127.0.0.1', port, rejectUnauthorized: false}).on('error', () => {}));
  await Promise.all(sockets.map(socket => once(socket, 'secureConnect')));
  for (const socket of sockets) socket.write(`POST ${to} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{`);
  return sockets;
};

test('bodies that come slowly keep no other request waiting, and end by the longest time of a request', async t => {
  const {clock, manager, review, send} = await serve(t, [validating(Backup, () => []), converting(Backup, {hub: 'v1', versions: {}})]);
  const port = (await manager.webhookPort)!;
  const slow = [...(await slowBodies(port, 60, path)), ...(await slowBodies(port, 3, '/convert'))];
  const answers: string[] = [];
  for (const socket of slow) socket.once('data', (chunk: Buffer) => answers.push(chunk.toString('latin1', 9, 12)));
  while (!(await manager.metrics()).body.includes(`controller_runtime_webhook_requests_in_flight{webhook="${path}"} 60`))
    await yieldToEventLoop();

  t.is((await review({spec: {}})).response['allowed'], true);
  const request = {uid: 'u1', desiredAPIVersion: 'example.com/v1', objects: []};
  t.is((await send('/convert', JSON.stringify({apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request}))).status, 200);
  await clock.advance(30_000);
  while (answers.length < 63) await yieldToEventLoop();
  t.deepEqual([...new Set(answers)], ['504']);
  for (const socket of slow) socket.destroy();
});

test('idle connections shut nobody out of the port of webhooks', async t => {
  const {manager, review} = await serve(t, [validating(Backup, () => [])]);
  const port = (await manager.webhookPort)!;
  const idle = Array.from({length: 510}, () => net.connect(port, '127.0.0.1').on('error', () => {}));
  await Promise.all(idle.map(socket => once(socket, 'connect')));

  t.is((await review({spec: {}})).response['allowed'], true);
  for (const socket of idle) socket.destroy();
});
