import test from 'ava';
import http2 from 'node:http2';
import {type Duplex, PassThrough} from 'node:stream';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {aDelivery, until} from './deliveries.js';
import {answering, serve} from './server.js';

test('when too many bytes wait for readers in total, the slowest readers are disconnected', t => {
  const deliveries = new Deliveries(new VirtualClock(), 1000);
  const outlets = [1, 2, 3, 4].map(() => new PassThrough().on('error', () => {}));
  const [a, b, c, d] = outlets.map(outlet => deliveries.send(outlet, undefined));
  a!.waits(300);
  b!.waits(300);
  c!.waits(300);
  a!.waits(250);
  b!.grows(390);
  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [false, false, false, false],
  );
  d!.waits(100);
  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [false, true, false, false],
  );
  t.is(deliveries.waitingBytes, 650);
  d!.waits(900);

  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [true, true, true, false],
  );
  t.deepEqual([deliveries.waitingBytes, deliveries.cutOff.bytes], [900, 3]);
});

test('very many small answers that nobody reads make room for a large one, all in one step', t => {
  const deliveries = new Deliveries(new VirtualClock(), 1_000_000);
  const outlet = () => ({destroyed: false, destroy: () => undefined, on: () => {}}) as unknown as Duplex;
  for (let client = 0; client < 50_000; client++) deliveries.send(outlet(), undefined).waits(20);
  deliveries.send(outlet(), undefined).waits(999_990);

  t.deepEqual([deliveries.waitingBytes, deliveries.cutOff.bytes], [999_990, 50_000]);
});

test('an answer counts with what its request takes, as long as it is not read', t => {
  const deliveries = new Deliveries(new VirtualClock(), 1000);
  const outlets = [1, 2].map(() => new PassThrough().on('error', () => {}));
  const [first, second] = outlets.map(outlet => deliveries.send(outlet, undefined, 500));
  first!.waits(1);
  t.is(deliveries.waitingBytes, 501);
  second!.waits(1);
  t.deepEqual(
    outlets.map(({destroyed}) => destroyed),
    [true, false],
  );
  second!.waits(0);

  t.is(deliveries.waitingBytes, 0);
});

test('HTTP/2: unread answers to long requests stay within the bound, with their headers', async t => {
  const deliveries = new Deliveries(systemClock, 1 << 20);
  await using server = await serve(
    answering(() => ({status: 200, headers: {}, body: {kind: 'bytes', bytes: 'ok', contentType: 'text/plain'}})),
    {http: {deliveries}},
  );
  const session = http2.connect(server.url, {ca: server.ca, settings: {initialWindowSize: 0}});
  let most = 0;
  for (let index = 0; index < 100; index++) session.request({':path': `/${'a'.repeat(10_000)}`}).on('error', () => {});
  await until(() => {
    most = Math.max(most, deliveries.waitingBytes);
    return deliveries.cutOff.bytes >= 60;
  });

  t.true(most <= 1 << 20 && most > 900_000, String(most));
  session.destroy();
});

test('clients whose deadlines end together are disconnected a few per turn of the event loop', async t => {
  const clock = new VirtualClock();
  const deliveries = new Deliveries(clock);
  const turns: number[] = [];
  let turn = 0;
  for (let client = 0; client < 40; client++) {
    const delivery = aDelivery(1000);
    deliveries.send({destroyed: false, destroy: () => void turns.push(turn), on: () => {}} as unknown as Duplex, delivery).waits(10);
  }
  const advanced = clock.advance(2000);
  for (; turns.length < 40; turn++) await new Promise(resolve => setImmediate(resolve));
  await advanced;

  t.is(deliveries.waitingBytes, 0);
  t.true(Math.max(...turns.map(each => turns.filter(other => other === each).length)) <= 16);
});
