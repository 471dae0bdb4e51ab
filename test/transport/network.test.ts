import {readFileSync} from 'node:fs';
import {createServer, type AddressInfo, type Socket} from 'node:net';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {systemNetwork} from '#src/transport/network.js';

/** A port of this machine, which listens or did so a moment ago. */
const aPort = async (listens: boolean): Promise<{readonly port: string; close(): void}> => {
  const server = createServer();
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const {port} = server.address() as AddressInfo;
  if (!listens) await new Promise(resolve => server.close(resolve));
  return {port: String(port), close: () => server.close()};
};

test('an open port is reached, a closed one is reported', async t => {
  const clock = new VirtualClock();
  const {dial} = systemNetwork(clock);
  const [open, shut] = [await aPort(true), await aPort(false)];

  (await dial('127.0.0.1', open.port)).destroy();
  open.close();
  await t.throwsAsync(dial('127.0.0.1', shut.port), {message: `dial tcp 127.0.0.1:${shut.port}: connect: connection refused`});
  t.is(clock.pending, 0);
});

const onLinux = process.platform === 'linux' ? test : test.skip;

/** The timer of a connection, and the time in ms until it expires, as the system states them. */
const timerOf = (localPort: number): readonly [timer: string, ms: number] => {
  const hexPort = `:${localPort.toString(16).toUpperCase().padStart(4, '0')}`;
  const line = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .find(each => each.trim().split(/ +/)[1]?.endsWith(hexPort));
  const [timer = '', left = ''] = line?.trim().split(/ +/)[5]?.split(':') ?? [];
  return [timer, Number.parseInt(left, 16) * 10];
};

onLinux('an idle connection is probed by the system, so that one that nobody acknowledges ends within 17 s', async t => {
  const open = await aPort(true);
  const socket = (await systemNetwork(new VirtualClock()).dial('127.0.0.1', open.port)) as Socket;

  const [timer, ms] = timerOf(socket.localPort!);

  t.is(timer, '02', 'the timer of keep-alive probes');
  t.true(ms > 5_000 && ms <= 7_010, `${ms} ms`);
  socket.destroy();
  open.close();
});

for (const [port, message] of [
  ['web', 'dial tcp: lookup 127.0.0.1:web: no such host'],
  ['65536', 'dial tcp: address 65536: invalid port'],
] as const) {
  test(`the port ${port} cannot be listened on`, async t => {
    await t.throwsAsync(systemNetwork(new VirtualClock()).dial('127.0.0.1', port), {message});
  });
}

test('an address is its own, a name has those it is known by', async t => {
  const {resolve} = systemNetwork(new VirtualClock());

  t.deepEqual(await resolve('fd00::1'), ['fd00::1']);
  t.true((await resolve('localhost')).some(address => address === '127.0.0.1' || address === '::1'));
});

test('no host is no name of this machine', async t => {
  const {dial, resolve} = systemNetwork(new VirtualClock());

  await t.throwsAsync(dial('', '443'), {message: 'dial tcp: lookup : no such host'});
  await t.throwsAsync(resolve(''), {message: 'lookup : no such host'});
});

test('an abstract socket is reached by the name after @', async t => {
  const name = `plat-test-${process.pid}`;
  const server = createServer();
  await new Promise<void>(resolve => {
    server.listen(`\0${name}`, resolve);
  });

  (await systemNetwork(new VirtualClock()).dial(`/@${name}`, '')).destroy();
  await new Promise(resolve => server.close(resolve));
  t.pass();
});
