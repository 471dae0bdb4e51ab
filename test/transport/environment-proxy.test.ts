import test from 'ava';
import {systemClock as clock} from '#src/base/clock.js';
import {connect} from '#src/transport/client/http-connection.js';
import {targetOf} from '#src/transport/dial.js';
import {environmentDialer, environmentProxy} from '#src/transport/environment-proxy.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {answering, json, serve} from '#test/serving/server.js';
import {aConnectProxy} from './connect-proxy.js';

const proxied = (noProxy: string, host: string, port = '443') =>
  environmentProxy({https_proxy: 'proxy:3128', NO_PROXY: noProxy})!(host, port) !== undefined;

for (const [noProxy, host, isProxied, port] of [
  ['', 'api.example.com', true],
  ['', 'localhost', false],
  ['', '127.0.0.5', false],
  ['', '::1', false],
  ['', '10.0.0.1', true],
  ['*', 'api.example.com', false],
  ['example.com', 'api.example.com', false],
  ['example.com', 'EXAMPLE.com.', false],
  ['example.com', 'notexample.com', true],
  ['.example.com', 'example.com', true],
  ['.example.com', 'a.b.example.com', false],
  ['*.example.com', 'example.com', true],
  ['*.example.com', 'api.example.com', false],
  ['example.com:8443', 'api.example.com', true],
  ['example.com:8443', 'api.example.com', false, '8443'],
  ['a.com, 10.0.0.0/8 ,b.com', '10.1.2.3', false],
  ['10.0.0.0/8', '11.1.2.3', true],
  ['10.0.0.0/8', 'ten.example', true],
  ['fd00::/8', 'fd00::1', false],
  ['10.0.0.1', '10.0.0.1', false],
  ['10.0.0.1:6443', '10.0.0.1', true],
  ['2001:db8::1', '2001:db8::1', false],
  ['[2001:db8::1]:6443', '2001:db8::1', false, '6443'],
  ['10.0.0.0/99,,', '10.0.0.1', true],
] as const)
  test(`with NO_PROXY=${noProxy} a connection to ${host} at ${port ?? 443} is ${isProxied ? 'proxied' : 'direct'}`, t => {
    t.is(proxied(noProxy, host, port), isProxied);
  });

test('the proxy has a scheme or is one for HTTP, and there may be none', t => {
  t.is(environmentProxy({}), undefined);
  t.is(environmentProxy({HTTPS_PROXY: 'https://me:secret@proxy'})!('a', '1'), 'https://me:secret@proxy');
  t.is(environmentProxy({HTTPS_PROXY: 'proxy:3128'})!('a', '1'), 'http://proxy:3128');
});

/** A network whose names all lead to this machine. */
const system = systemNetwork(clock);
const network: Network = {dial: (_, port) => system.dial('127.0.0.1', port), resolve: host => Promise.resolve([host])};

test('a client uses the proxy of the environment, unless its settings name one or the server is excepted', async t => {
  await using server = await serve(answering(() => json({})));
  using proxy = await aConnectProxy();
  process.env['HTTPS_PROXY'] = `http://proxy.example:${proxy.port}`;
  process.env['NO_PROXY'] = 'direct.example';
  t.teardown(() => {
    delete process.env['HTTPS_PROXY'];
    delete process.env['NO_PROXY'];
  });
  const statusAt = async (host: string, proxyUrl?: string) => {
    const trust = {ca: {data: server.ca}, serverName: '127.0.0.1'};
    const settings = {server: `https://${host}:${server.port}`, trust, identity: {}, source: 'test', ...(proxyUrl ? {proxyUrl} : {})};
    await using connection = await connect(settings, {clock, network});
    return (await connection.send({method: 'GET', path: '/', headers: {}})).status;
  };
  using own = await aConnectProxy();

  t.is(await statusAt('api.example'), 200);
  t.deepEqual(proxy.tunnels, [`api.example:${server.port}`]);
  t.is(await statusAt('direct.example'), 200);
  t.is(await statusAt('own.example', `http://own:${own.port}`), 200);
  t.deepEqual([proxy.tunnels.length, own.tunnels], [1, [`own.example:${server.port}`]]);
});

test('servers whose addresses are known, and those without TLS, are dialled directly', async t => {
  using proxy = await aConnectProxy();
  await using server = await serve(answering(() => json({})));
  const dial = environmentDialer(network, clock, {HTTPS_PROXY: `http://proxy:${proxy.port}`});
  const port = String(server.port);
  (await dial(targetOf(`http://pod.example:${port}`))).destroy();
  (await dial({scheme: 'https', host: 'svc', addresses: ['10.0.0.1'], port, tls: {insecure: true}})).destroy();
  t.deepEqual(proxy.tunnels, []);
  (await dial({scheme: 'https', host: 'svc', port, tls: {insecure: true}})).destroy();
  t.deepEqual(proxy.tunnels, [`svc:${port}`]);
});
