import {existsSync} from 'node:fs';
import {symlink, writeFile, mkdir} from 'node:fs/promises';
import {X509Certificate} from 'node:crypto';
import type {SecureContextOptions} from 'node:tls';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {systemFiles} from '#src/base/files/files.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {PairStore} from '#src/platlet/certificates/pair-store.js';
import {openServingCertificate} from '#src/platlet/certificates/serving.js';
import {servingTemplate} from '#src/platlet/certificates/template.js';
import {nodeUser, requestsOf} from '#test/controllers/requests.js';
import {aJoinablePlane, JoiningAgent, signer} from './joining-agent.js';

type Addresses = {readonly type: string; readonly address: string}[];

test('an agent requests a serving certificate for the addresses of its node, and another when they change', async t => {
  await using plane = await aJoinablePlane('node-serving-approving-controller', signer);
  using agent = await JoiningAgent.at(plane);
  const {clock, naming} = plane;
  const stopping = new AbortController();
  const nodes = plane.client().resource(kinds.nodes);
  await nodes.create({metadata: {name: 'one'}});
  let addresses: Addresses = [{type: 'Hostname', address: 'one'}];
  const show = (next: Addresses) => {
    addresses = next;
    return nodes.patch('one', 'merge', {status: {addresses}}, {subresource: 'status'});
  };
  const store = new PairStore({files: systemFiles, host: systemHost, clock, folder: agent.path('pki'), prefix: 'platlet-server'});
  const serving = await openServingCertificate({
    store,
    nodeName: 'one',
    naming,
    client: plane.client(nodeUser),
    addresses: () => addresses,
    allowsNamesAlone: false,
    clock,
    random: seededRandom(1),
    log: noLog,
    meter: noMeter,
    signal: stopping.signal,
  });
  const later: SecureContextOptions[] = [];
  serving.follow(options => later.push(options));
  await clock.advance(60_000);
  t.deepEqual([serving.contextOptions, await requestsOf(plane).names()], [{}, []]);

  await show([...addresses, {type: 'InternalIP', address: '10.0.0.7'}]);
  await clock.advance(5_000);
  await show([...addresses, {type: 'ExternalIP', address: '192.0.2.9'}]);
  await clock.advance(5_000);

  const names = later.map(({cert}) => new X509Certificate(cert as string).subjectAltName);
  t.deepEqual(names, ['DNS:one, IP Address:10.0.0.7', 'DNS:one, IP Address:10.0.0.7, IP Address:192.0.2.9']);
  t.deepEqual(serving.contextOptions, later[1]);
  const [request] = (await requestsOf(plane).resource.list()).items;
  t.deepEqual([request!.spec.usages, request!.spec.signerName], [['digital signature', 'server auth'], naming.signers.agentServing]);
  stopping.abort();
  await clock.drain();
});

const ip = (type: string, address: string) => ({type, address});
const cases: readonly (readonly [what: string, given: Addresses, dnsNames?: readonly string[], ipAddresses?: readonly string[]])[] = [
  ['no address', []],
  ['names alone', [ip('Hostname', 'one')]],
  ['an IP literal as host name', [ip('Hostname', '10.0.0.1')], [], ['10.0.0.1']],
  ['a name where an IP address is expected', [ip('InternalIP', 'one'), ip('InternalIP', '10.0.0.1')], [], ['10.0.0.1']],
  ['an IP address where a name is expected', [ip('InternalDNS', '10.0.0.2'), ip('InternalIP', '10.0.0.1')], [], ['10.0.0.1']],
  [
    'several of each, some twice',
    [ip('ExternalDNS', 'b'), ip('InternalDNS', 'a'), ip('Hostname', 'a'), ip('InternalIP', '10.0.0.2'), ip('ExternalIP', '10.0.0.1')],
    ['a', 'b'],
    ['10.0.0.1', '10.0.0.2'],
  ],
];
test('a serving certificate has the sorted names and addresses of the node', t => {
  for (const [what, given, dnsNames, ipAddresses] of cases) {
    const template = servingTemplate('one', given, false);
    t.deepEqual(template && [template.dnsNames, template.ipAddresses], dnsNames && [dnsNames, ipAddresses], what);
  }
  t.deepEqual(servingTemplate('one', [ip('Hostname', 'one')], true)?.dnsNames, ['one']);
});

test('a store finishes a switch that was cut off, and names files that cannot be used', async t => {
  await using plane = await aJoinablePlane();
  using agent = await JoiningAgent.at(plane);
  const folder = agent.path('pki');
  await mkdir(folder);
  const store = new PairStore({files: systemFiles, host: systemHost, clock: plane.clock, folder, prefix: 'p'});
  t.is(await store.current(), undefined);
  await writeFile(`${folder}/broken.pem`, 'nothing');
  await symlink(`${folder}/broken.pem`, `${folder}/p-updated.pem`);

  await t.throwsAsync(store.current(), {message: /could not convert data from ".*\/p-current\.pem" into cert\/key pair/});
  t.false(existsSync(`${folder}/p-updated.pem`));
});
