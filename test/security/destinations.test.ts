import test from 'ava';
import type {Status} from '#src/api/status.js';
import {isAllowedDestination} from '#src/resources/core/connect/proxy.js';
import {startWire} from '#test/apiserver/wire.js';

/** This machine, its links, and what is no single machine, in every form of an address. */
const refused = [
  '127.0.0.1',
  '127.255.255.254',
  '127.1',
  '127.0.0.01',
  '0177.0.0.1',
  '0x7f.0.0.1',
  '2130706433',
  '017700000001',
  '0.0.0.0',
  '0',
  '169.254.169.254',
  '224.0.0.1',
  '239.1.1.1',
  '255.255.255.255',
  '::1',
  '::',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::FFFF:127.0.0.1',
  '0:0:0:0:0:ffff:127.0.0.1',
  '::ffff:0.0.0.0',
  '::ffff:169.254.169.254',
  'fe80::1',
  'fe80::1%eth0',
  'febf::1',
  'ff02::1',
  '[::1]',
  '127.0.0.1:80',
  ' 127.0.0.1',
  '127.0.0.1 ',
  '127.0.0.1\0',
  'localhost',
  '/var/run/docker.sock',
  '',
];

const dialled: string[] = [];
const {post, put, send} = await startWire({
  network: {
    dial: (host, port) => {
      dialled.push(`${host}:${port}`);
      return Promise.reject(new Error('connection refused'));
    },
    // As the system does it, which reads many texts as addresses of this machine.
    resolve: host => Promise.resolve([/^[\d.x]+$/.test(host) && !host.startsWith('10.') ? '127.0.0.1' : host]),
  },
});
const upgrade = {headers: {upgrade: 'websocket', connection: 'Upgrade'}};

test('calls go to no address of this machine, of its links or of many machines, however it is written', t => {
  for (const address of refused) t.false(isAllowedDestination(address), address);
  for (const address of ['10.0.0.1', '192.168.1.1', '8.8.8.8', 'fd00::1', '2001:db8::1', '::ffff:10.0.0.1'])
    t.true(isAllowedDestination(address), address);
});

test.serial('no address in a status of a pod or node leads a proxied call to this machine', async t => {
  let reached = 0;
  for (const [index, address] of refused.entries()) {
    const name = `n${index}`;
    await post('/api/v1/nodes', {
      metadata: {name},
      status: {addresses: [{type: 'InternalIP', address}], daemonEndpoints: {kubeletEndpoint: {Port: 1}}},
    });
    await post('/api/v1/namespaces/default/pods', {metadata: {name}, spec: {containers: [{name: 'c', image: 'x'}]}});
    await put(`/api/v1/namespaces/default/pods/${name}/status`, {metadata: {name}, status: {podIP: address, podIPs: [{ip: address}]}});
    for (const url of [
      `/api/v1/nodes/${name}/proxy/`,
      `/api/v1/nodes/${name}:80/proxy/`,
      `/api/v1/namespaces/default/pods/${name}/proxy/`,
      `/api/v1/namespaces/default/pods/https:${name}:443/proxy/x`,
    ])
      for (const more of [{}, upgrade]) {
        const {status, json} = await send('GET', url, more);
        t.true(status >= 400, `${url} ${address}: ${status}`);
        if (/error (trying to reach|dialing)/.test(json<Status>().message ?? '')) reached++;
      }
  }
  t.deepEqual([dialled, reached], [[], 0]);
});

test.serial('no name, port or path of a proxied call changes its destination', async t => {
  await post('/api/v1/nodes', {
    metadata: {name: 'good'},
    status: {addresses: [{type: 'InternalIP', address: '10.2.0.1'}], daemonEndpoints: {kubeletEndpoint: {Port: 10250}}},
  });
  dialled.length = 0;
  const calls = [
    'good:80@127.0.0.1',
    'good:0',
    'good:-1',
    'good:65536',
    'good:80%23',
    'good:80%3f',
    'good:80%5c',
    'https:good:80%40127.0.0.1',
    'good%40127.0.0.1',
    'http:good:',
    'good:80:',
    '::good',
    'unix:good:1',
    'good:http',
  ];
  for (const id of calls)
    for (const rest of [
      '',
      '/',
      '/../../',
      '//127.0.0.1/',
      '/%2f%2f127.0.0.1',
      '/@127.0.0.1',
      '/http://127.0.0.1/',
      '?@127.0.0.1',
      '/%0d%0aHost:%20x',
    ]) {
      const {status} = await send('GET', `/api/v1/nodes/${id}/proxy${rest}`);
      t.true(status >= 300, `${id}${rest}: ${status}`);
    }
  t.deepEqual(
    [...new Set(dialled.map(place => place.split(':')[0]))].filter(host => host !== '10.2.0.1'),
    [],
  );
});
