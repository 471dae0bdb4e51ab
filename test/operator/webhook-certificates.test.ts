import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {noLog} from '#src/base/log.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Secret} from '#src/operator/kinds.js';
import {followCertificate} from '#src/operator/webhooks/certificates.js';
import {renewedMaterial, type Material} from '#src/operator/webhooks/material.js';
import {readCounts} from '#src/operator/webhooks/metrics.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {verifyChain, trustAnchors} from '#src/pki/chain.js';
import {parseKeyPair} from '#src/pki/key-pair.js';
import {aDirectory} from '#test/cli/programs.js';
import {startServer} from '#test/fixtures/server.js';
import {recordingLog} from '#test/runtime/environment.js';

const day = 86_400_000;
const start = Date.parse('2026-01-01T00:00:00Z');
const nothing: Material = {certificate: '', key: '', authorities: '', authorityKey: ''};
const at = (days: number, hosts = ['hooks.default.svc']) => ({hosts, commonName: 'default/hooks', now: start + days * day});

const isTrusted = ({certificate, key, authorities}: Material, now: number): boolean => {
  const [leaf, ...intermediates] = parseKeyPair(certificate, key).chain;
  const anchors = trustAnchors(parseCertificateBundle(authorities));
  return verifyChain(leaf, {anchors, intermediates, now, usage: 'server auth'}).verified;
};

test('a certificate is made with its CA, kept, and renewed by the same CA in the last third of its ninety days', async t => {
  const first = (await renewedMaterial(nothing, at(0)))!;
  t.true(isTrusted(first, start));
  for (const days of [0, 30, 59]) t.is(await renewedMaterial(first, at(days)), undefined);
  const second = (await renewedMaterial(first, at(61)))!;
  t.not(second.certificate, first.certificate);
  t.deepEqual([second.authorities, second.authorityKey], [first.authorities, first.authorityKey]);
});

test('a certificate for other hosts, and one that cannot be read, are replaced', async t => {
  const first = (await renewedMaterial(nothing, at(0)))!;
  const wider = (await renewedMaterial(first, at(1, ['hooks.default.svc', '10.0.0.1'])))!;
  t.deepEqual(parseKeyPair(wider.certificate, wider.key).chain[0].ipAddresses, ['10.0.0.1']);
  t.is(wider.authorities, first.authorities);
  const repaired = (await renewedMaterial({...first, key: 'garbage'}, at(1)))!;
  t.true(isTrusted(repaired, start + day));
  const anew = (await renewedMaterial({...first, authorityKey: 'garbage'}, at(1)))!;
  t.true(isTrusted(anew, start + day));
});

test('a new CA is trusted beside the old one, and signs only once callers had a day to learn it', async t => {
  const old = (await renewedMaterial(nothing, at(0)))!;
  const late = 8 * 365 + 2;
  const current = (await renewedMaterial(old, at(late - 10)))!;
  t.is(parseCertificateBundle(current.authorities).length, 1);
  const rotated = (await renewedMaterial(current, at(late)))!;
  t.is(parseCertificateBundle(rotated.authorities).length, 2);
  t.is(rotated.certificate, current.certificate);
  t.true(isTrusted(rotated, start + late * day));
  t.is(await renewedMaterial(rotated, at(late + 0.5)), undefined);
  const signed = (await renewedMaterial(rotated, at(late + 2)))!;
  t.not(signed.certificate, rotated.certificate);
  t.true(isTrusted(signed, start + (late + 2) * day));
  t.is(parseCertificateBundle(signed.authorities).length, 2);
});

const replica = async (t: ExecutionContext, {clock, clientOf}: ReturnType<typeof startServer>) => {
  const life = new AbortController();
  t.teardown(() => life.abort());
  const {log, lines} = recordingLog();
  const meter = new MetricsRegistry();
  const certificate = await followCertificate(
    {secret: 'hooks', namespace: 'default'},
    {client: clientOf(), clock, log, counts: readCounts(meter), hosts: ['hooks.default.svc'], signal: life.signal},
  );
  let changes = 0;
  certificate.onChange(() => changes++);
  return {certificate, lines, changes: () => changes, metrics: async () => (await meter.exposition()).body};
};

test('replicas share one certificate in a Secret, also when they start at once, and go over to the renewed one', async t => {
  const server = startServer();
  const [a, b] = await Promise.all([replica(t, server), replica(t, server)]);
  t.deepEqual(a.certificate.current(), b.certificate.current());
  const first = a.certificate.current().certificate;

  server.clock.jump(65 * day);
  await server.clock.advance(120_000);
  t.deepEqual(a.certificate.current(), b.certificate.current());
  t.not(a.certificate.current().certificate, first);
  t.deepEqual([a.changes(), b.changes()], [1, 1]);
});

test('a Secret that was deleted or damaged is made again, with the failures counted', async t => {
  const server = startServer();
  const {clock, clientOf} = server;
  const secrets = clientOf().resource(Secret);
  const {certificate, metrics} = await replica(t, server);
  const first = certificate.current().certificate;
  await secrets.delete('hooks', {namespace: 'default'});
  await clock.advance(61_000);
  t.not(certificate.current().certificate, first);
  const {data} = await secrets.get('hooks', {namespace: 'default'});
  t.deepEqual(Object.keys(data!).sort(), ['ca.crt', 'ca.key', 'tls.crt', 'tls.key']);
  t.regex(await metrics(), /^certwatcher_read_certificate_total [2-9]/m);
  t.regex(await metrics(), /^certwatcher_read_certificate_errors_total 0$/m);
});

test('a folder is followed, a key that does not match its certificate is not used, and a missing one is refused by name', async t => {
  const {clock, clientOf} = startServer();
  const life = new AbortController();
  t.teardown(() => life.abort());
  const folder = join(aDirectory(), 'pair');
  mkdirSync(folder);
  const [one, two] = [(await renewedMaterial(nothing, at(0)))!, (await renewedMaterial(nothing, at(0)))!];
  const write = (name: string, content: string) => writeFileSync(join(folder, name), content);
  const meter = new MetricsRegistry();
  const follow = () =>
    followCertificate({folder}, {client: clientOf(), clock, log: noLog, counts: readCounts(meter), hosts: [], signal: life.signal});
  await t.throwsAsync(follow, {message: /^webhooks: no certificate from .*pair: open .*tls\.crt: no such file or directory$/});
  write('tls.crt', one.certificate);
  write('tls.key', one.key);
  write('ca.crt', one.authorities);
  const certificate = await follow();
  write('tls.crt', two.certificate);
  await clock.advance(61_000);
  t.is(certificate.current().certificate, one.certificate);
  write('tls.key', two.key);
  write('ca.crt', two.authorities);
  await clock.advance(61_000);
  t.deepEqual(certificate.current(), {certificate: two.certificate, key: two.key, authorities: two.authorities});
  t.regex((await meter.exposition()).body, /^certwatcher_read_certificate_errors_total [1-9]/m);
});
