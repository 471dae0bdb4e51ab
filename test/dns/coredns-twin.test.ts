// The answers of this server beside those of CoreDNS, which follows the same plane.

import {spawn} from 'node:child_process';
import {existsSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import type packet from 'dns-packet';
import {Undo} from '#src/base/undo.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {eventually} from '#test/cli/eventually.js';
import {aDirectory} from '#test/cli/programs.js';
import {freePort} from '#test/fixtures/free-port.js';
import {examples} from './cluster.js';
import {aServer, ask, createObjects, type Decoded, type TestDns} from './server.js';

const program = process.env['PLAT_TEST_COREDNS'];
const missing = program === undefined || !existsSync(program) ? 'PLAT_TEST_COREDNS names no program of CoreDNS' : undefined;

const D = 'svc.cluster.local';

const lookups: readonly string[] = [
  'dns-version.cluster.local TXT',
  `kubernetes.default.${D} A`,
  `kubernetes.default.${D} AAAA`,
  `kubernetes.default.${D} TXT`,
  `KuberneteS.default.${D} A`,
  `dual.default.${D} A`,
  `dual.default.${D} AAAA`,
  `nobody.default.${D} A`,
  `nobody.default.${D} MX`,
  `kubernetes.shop.${D} A`,
  `kubernetes.nowhere.${D} A`,
  `default.${D} A`,
  `nowhere.${D} A`,
  `${D} A`,
  'cluster.local A',
  'cluster.local SOA',
  'ingress.cluster.local A',
  `_https._tcp.kubernetes.default.${D} SRV`,
  `_http._tcp.dual.default.${D} SRV`,
  `_http._udp.dual.default.${D} SRV`,
  `_ssh._tcp.dual.default.${D} SRV`,
  `dual.default.${D} SRV`,
  `pets.shop.${D} A`,
  `none-ready.shop.${D} A`,
  `without-ports.shop.${D} A`,
  `six.shop.${D} AAAA`,
  `cat.pets.shop.${D} A`,
  `10-244-1-5.pets.shop.${D} A`,
  `10-244-1-6.pets.shop.${D} A`,
  `dog.pets.shop.${D} A`,
  `_http._tcp.pets.shop.${D} SRV`,
  `inside.default.${D} A`,
  `inside.default.${D} AAAA`,
  `twice.default.${D} A`,
  `outside.default.${D} CNAME`,
  `itself.default.${D} A`,
  `address.default.${D} A`,
  '10-244-1-5.shop.pod.cluster.local A',
  'fd00--1.shop.pod.cluster.local AAAA',
  '10-244-1-500.shop.pod.cluster.local A',
  '10-244-1-5.nowhere.pod.cluster.local A',
  '7.0.96.10.in-addr.arpa PTR',
  '5.1.244.10.in-addr.arpa PTR',
];

const corefile = (port: number, settings: string): string => `.:${port} {
  bind 127.0.0.1
  errors
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${settings}
    pods insecure
    ttl 5
  }
  loadbalance
}
`;

const startCoreDns = async (plane: Plane, undo: Undo): Promise<Pick<TestDns, 'address' | 'port'>> => {
  const [folder, port] = [aDirectory(), await freePort()];
  const [file, settings] = [join(folder, 'Corefile'), join(folder, 'kubeconfig')];
  writeFileSync(settings, plane.kubeconfig);
  writeFileSync(file, corefile(port, settings));
  const child = spawn(program!, ['-conf', file], {stdio: 'ignore'});
  undo.defer(() => child.kill('SIGKILL'));
  return {address: '127.0.0.1', port};
};

const recordText = ({name, type, ...record}: packet.Answer): string => {
  const {ttl, data} = record as {readonly ttl?: number; readonly data?: unknown};
  const {serial: _serial, ...rest} = (
    typeof data === 'object' && !Buffer.isBuffer(data) && !Array.isArray(data) ? data : {value: data}
  ) as Record<string, unknown>;
  return `${name} ${ttl} ${type} ${JSON.stringify(rest)}`;
};

/** A response without what differs each time. */
const shown = ({rcode, flag_aa: isAuthoritative, answers = [], authorities = [], additionals = []}: Decoded) => ({
  rcode,
  isAuthoritative,
  answers: answers.map(recordText).sort(),
  authorities: authorities.map(recordText).sort(),
  additionals: additionals.map(recordText).sort(),
});

if (missing !== undefined) test(`answers are not compared: ${missing}`, t => t.pass());
else
  test('answers are those of CoreDNS', async t => {
    t.timeout(120_000);
    await using undo = new Undo();
    const ranges = '--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112';
    const plane = await startPlane({naming: 'kubernetes', controllers: 'none', securePort: 0, apiserverArgs: [ranges]});
    undo.defer(() => plane.stop());
    await createObjects(plane, examples);
    const original = await startCoreDns(plane, undo);
    await using ours = await aServer(plane);
    await eventually(async () => ((await ask(original, `cat.pets.shop.${D}`)).rcode === 'NOERROR' ? true : undefined));
    for (const lookup of lookups) {
      const [name = '', type] = lookup.split(' ');
      t.deepEqual(shown(await ask(ours, name, type)), shown(await ask(original, name, type)), lookup);
    }
  });
