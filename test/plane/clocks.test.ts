import {createPublicKey, X509Certificate} from 'node:crypto';
import {existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {systemFiles} from '#src/base/files/files.js';
import {noLog, type Log} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {parseCertificate, parseCertificateBundle} from '#src/pki/certificate.js';
import {trustAnchors, verifyChain} from '#src/pki/chain.js';
import {firstPemBlock} from '#src/pki/encoding/pem.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {aConfigMap, configMaps, startWire} from '#test/apiserver/wire.js';

const year = 365 * 24 * 3_600_000;
const start = Date.UTC(2026, 0, 1);

const aFolder = (): string => mkdtempSync(join(tmpdir(), 'plat-clocks-'));
const certificateIn = (file: string) => parseCertificate(firstPemBlock(readFileSync(file, 'utf8'))!.bytes);

test('certificates made by a clock that was a year ahead are made again, and what the CA issued stays valid', async t => {
  const directory = aFolder();
  t.teardown(() => rmSync(directory, {recursive: true, force: true}));
  const early = await planeMaterial(directory, new VirtualClock(start + year));
  const issued = certificateIn(early.files.admin);
  const logged: unknown[] = [];
  const log: Log = {...noLog, warn: (...args: unknown[]) => void logged.push(args)};

  const {files, authority} = await planeMaterial(directory, new VirtualClock(start), log);

  for (const file of [files.ca, files.legacyCa, files.proxyCa, files.admin, files.agentClient, files.proxyClient]) {
    const {notBefore, notAfter} = certificateIn(file);
    t.true(notBefore <= start - 300_000 && notAfter > start, file);
  }
  t.deepEqual(authority.certificate.publicKeyInfo, early.authority.certificate.publicKeyInfo);
  t.true(verifyChain(issued, {anchors: trustAnchors([authority.certificate]), now: start + year, usage: 'client auth'}).verified);
  t.is(logged.length, 3);
  const again = await planeMaterial(directory, new VirtualClock(start), log);
  t.deepEqual(again.authority.certificate.raw, authority.certificate.raw);
  t.is(parseCertificateBundle(readFileSync(files.ca, 'utf8')).length, 1);
});

test('events are written after the clock was set forward or back, and live as long as before', async t => {
  const clock = new VirtualClock(start);
  const {get, post} = await startWire({clock});
  const event = (name: string) => ({
    metadata: {name, namespace: 'default'},
    involvedObject: {kind: 'Pod', namespace: 'default', name: 'p'},
    reason: 'Tested',
    type: 'Normal',
  });
  const events = '/api/v1/namespaces/default/events';
  t.is((await post(events, event('before'))).status, 201);

  clock.jump(2 * 3_600_000);
  t.is((await post(events, event('ahead'))).status, 201);
  clock.jump(-4 * 3_600_000);
  t.is((await post(events, event('behind'))).status, 201);
  t.is((await post(configMaps, aConfigMap('a'))).status, 201);

  await clock.advance(3_500_000);
  for (const name of ['before', 'ahead', 'behind']) t.is((await get(`${events}/${name}`)).status, 200, name);
  await clock.advance(300_000);
  for (const name of ['before', 'ahead', 'behind']) t.is((await get(`${events}/${name}`)).status, 404, name);
});

test('a damaged CA or key is named, and a damaged certificate is issued again', async t => {
  const directory = aFolder();
  const clock = new VirtualClock();
  const {files} = await planeMaterial(directory, clock);
  const [ca, admin, key] = [files.ca, files.admin, files.serviceAccountKey].map(file => readFileSync(file, 'utf8'));
  const damaged = (pem: string): string => pem.replace(/\n[\w+/]{20}/, '\n');

  writeFileSync(files.ca, damaged(ca!));
  await t.throwsAsync(planeMaterial(directory, clock), {message: new RegExp(`^${files.ca} and ${files.caKey}: .`)});
  writeFileSync(files.ca, ca!);
  writeFileSync(files.serviceAccountKey, 'none');
  await t.throwsAsync(planeMaterial(directory, clock), {message: new RegExp(`^${files.serviceAccountKey}: .`)});
  writeFileSync(files.serviceAccountKey, key!);
  writeFileSync(files.admin, damaged(admin!));
  await planeMaterial(directory, clock);
  t.notThrows(() => new X509Certificate(readFileSync(files.admin)));
});

test('a key or certificate that was lost is not replaced as long as its other half is there', async t => {
  const directory = aFolder();
  const clock = new VirtualClock();
  await planeMaterial(directory, clock);
  const before = new Map(readdirSync(directory).map(name => [name, readFileSync(join(directory, name), 'utf8')]));
  const lossOf = (lost: string, kept: string) => ({lost, kept});
  const halves = ['ca', 'front-proxy-ca', 'legacy-unknown-ca'].flatMap(name => [
    lossOf(`${name}.key`, `${name}.crt`),
    lossOf(`${name}.crt`, `${name}.key`),
  ]);

  for (const {lost, kept} of [...halves, lossOf('sa.key', 'sa.pub')]) {
    for (const lose of [(file: string) => rmSync(file), (file: string) => writeFileSync(file, '')]) {
      lose(join(directory, lost));
      await t.throwsAsync(planeMaterial(directory, clock), {
        message: new RegExp(
          String.raw`^${directory}/${lost} is missing or empty, and ${directory}/${kept} is there: put it back from a backup, or remove `,
        ),
      });
      t.is(readFileSync(join(directory, kept), 'utf8'), before.get(kept)!);
      writeFileSync(join(directory, lost), before.get(lost)!);
    }
  }
  rmSync(join(directory, 'sa.pub'));
  rmSync(join(directory, 'admin.key'));
  await planeMaterial(directory, clock);
  t.is(readFileSync(join(directory, 'sa.pub'), 'utf8'), before.get('sa.pub')!);
  t.is(readFileSync(join(directory, 'ca.crt'), 'utf8'), before.get('ca.crt')!);
});

test('a first start that was cut off between any two files is followed by one that has all of them', async t => {
  const clock = new VirtualClock();
  for (let left = 0; left < 14; left++) {
    const directory = aFolder();
    t.teardown(() => rmSync(directory, {recursive: true, force: true}));
    let writes = 0;
    const write: typeof systemFiles.write = async (...args) => {
      if (writes++ >= left) throw new Error('cut off');
      await systemFiles.write(...args);
    };
    await planeMaterial(directory, clock, noLog, {write}).catch(() => undefined);

    const {files, authority} = await planeMaterial(directory, clock);

    t.true(Object.values(files).every(existsSync));
    t.true(new X509Certificate(readFileSync(files.admin)).verify(createPublicKey(authority.key)));
  }
});
