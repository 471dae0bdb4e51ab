import {mkdtempSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {connect, createServer, getCiphers, type ConnectionOptions, type TlsOptions} from 'node:tls';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createAuthority} from '#src/pki/authority.js';
import {parseCertificate, parseCertificateBundle} from '#src/pki/certificate.js';
import {createSelfSignedServing, issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {NameTable} from '#src/serving/certificates/names.js';
import {ensureOwnPair, renewOwnPair} from '#src/serving/certificates/own-pair.js';
import {ServingCertificates, type ServingCertificatesOptions} from '#src/serving/certificates/serving-certificates.js';
import {secureLimits} from '#src/serving/certificates/tls-limits.js';
import {cipherSuites, tlsVersions} from '#src/options/cipher-suites.js';

const now = Date.now();
const authority = createAuthority(await generatePrivateKey(), {commonName: 'authority', now: now - 60_000});
const root = mkdtempSync(join(tmpdir(), 'serving-'));
test.after.always(() => rmSync(root, {recursive: true}));

let folders = 0;
const newFolder = () => mkdtempSync(join(root, `${folders++}-`));
const pairFor = async (commonName: string, ...hosts: string[]) =>
  keyPairPem(await issueServingCertificate(authority, {commonName, hosts, now}));

const write = (folder: string, name: string, pair: {certificate: string; key: string}) => {
  const paths = {certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`)};
  writeFileSync(paths.certFile, pair.certificate);
  writeFileSync(paths.keyFile, pair.key);
  return paths;
};

const load = (options: Pick<ServingCertificatesOptions, 'pair'> & Partial<ServingCertificatesOptions>) =>
  ServingCertificates.load({files: systemFiles, clock: systemClock, log: noLog, ...options});

/** The common name a real server shows to a real client. */
const shown = async (tls: TlsOptions, options: ConnectionOptions = {}): Promise<string> => {
  const server = createServer(tls);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise<string>((resolve, reject) => {
      const {port} = server.address() as AddressInfo;
      const socket = connect({host: '127.0.0.1', port, rejectUnauthorized: false, ...options}, () => {
        resolve(parseCertificate(socket.getPeerCertificate().raw).subject.commonName);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  } finally {
    server.close();
  }
};

test('serves by name: names before wildcards, given patterns before names in certificates', async t => {
  const folder = newFolder();
  const named = async (name: string, patterns: string[], ...hosts: string[]) => ({
    ...write(folder, name, await pairFor(name, ...hosts)),
    patterns,
  });
  const certificates = await load({
    pair: write(folder, 'default', await pairFor('default', 'default.test', 'own.test')),
    named: [
      await named('own', [], 'own.test', 'both.test'),
      await named('wild', ['*.test', '10.0.0.1']),
      await named('given', ['both.test']),
    ],
  });
  const cases: [string | undefined, string][] = [
    ['own.test', 'own'],
    ['OTHER.test', 'wild'],
    ['both.test', 'given'],
    ['a.b.test', 'default'],
    ['elsewhere', 'default'],
    [undefined, 'default'],
  ];

  for (const [servername, expected] of cases)
    t.is(await shown(certificates.tlsOptions, servername === undefined ? {} : {servername}), expected);
  t.not(certificates.contextFor('10.0.0.1'), certificates.contextFor('10.0.0.2'));
});

test('lets the earlier of two equal patterns win, and never takes an address from a certificate', async t => {
  const [leaf] = parseCertificateBundle((await pairFor('a.b', '10.0.0.1', 'c.d')).certificate);
  const table = new NameTable([
    {leaf: leaf!, patterns: ['x'], value: 1},
    {leaf: leaf!, patterns: ['x', '*.y'], value: 2},
    {leaf: leaf!, patterns: [], value: 3},
  ]);

  t.deepEqual(
    ['x', 'a.y', 'y', 'a.b', 'c.d', '10.0.0.1', 'X.'].map(name => table.find(name)),
    [1, 2, undefined, 3, 3, undefined, 1],
  );
});

test('keeps the pair in use until both of its files have been replaced', async t => {
  const folder = newFolder();
  const [one, two] = [await pairFor('one', 'a'), await pairFor('two', 'a')];
  const certificates = await load({pair: write(folder, 'x', one)});

  write(folder, 'x', {certificate: two.certificate, key: one.key});
  t.false(await certificates.reload());
  t.is(certificates.leaf.subject.commonName, 'one');
  write(folder, 'x', {certificate: '', key: two.key});
  t.false(await certificates.reload());
  write(folder, 'x', two);
  t.true(await certificates.reload());
  t.is(await shown(certificates.tlsOptions), 'two');
  t.false(await certificates.reload());
});

test('looks at its files every minute', async t => {
  const clock = new VirtualClock(now);
  const folder = newFolder();
  // No file changes here: the minute is followed.
  const files = {...systemFiles, watch: () => ({[Symbol.dispose]() {}})};
  const certificates = await load({clock, files, pair: write(folder, 'x', await pairFor('one', 'a'))});
  const stop = new AbortController();
  let changes = 0;
  certificates.follow(stop.signal, () => changes++);

  write(folder, 'x', await pairFor('two', 'a'));
  await clock.advance(59_999);
  t.is(changes, 0);
  await clock.advance(1);
  t.deepEqual([changes, certificates.leaf.subject.commonName], [1, 'two']);
  await clock.advance(600_000);
  t.is(changes, 1);
  stop.abort();
  t.is(clock.pending, 0);
});

test('notices replaced files at once', async t => {
  const folder = newFolder();
  const certificates = await load({pair: write(folder, 'x', await pairFor('one', 'a'))});
  const stop = new AbortController();
  const changed = new Promise<void>(resolve => certificates.follow(stop.signal, () => resolve()));
  const alive = setInterval(() => {}, 1000); // The clock's timers do not keep a process alive.

  const two = await pairFor('two', 'a');
  await systemFiles.write(join(folder, 'x.key'), two.key, 0o600);
  await systemFiles.write(join(folder, 'x.crt'), two.certificate, 0o600);
  await changed;
  clearInterval(alive);
  stop.abort();
  t.is(certificates.leaf.subject.commonName, 'two');
});

test('refuses files it cannot serve with, naming them', async t => {
  const folder = newFolder();
  const good = write(folder, 'good', await pairFor('x', 'a'));
  const other = write(folder, 'other', await pairFor('y', 'a'));

  await t.throwsAsync(load({pair: {certFile: good.certFile, keyFile: other.keyFile}}), {
    message: /cannot serve with the certificate .*good.crt and the key .*other.key: tls: private key does not match public key/,
  });
  await t.throwsAsync(load({pair: {certFile: join(folder, 'none'), keyFile: good.keyFile}}), {message: /none: no such file/});
});

test('makes a pair of its own once, for its owner only', async t => {
  const folder = join(newFolder(), 'certs');
  const own = {files: systemFiles, clock: new VirtualClock(now), folder, name: 'apiserver', host: 'plat.test', hosts: ['127.0.0.1']};
  const paths = await ensureOwnPair(own);
  const before = await systemFiles.read(paths.certFile);

  t.deepEqual([statSync(folder).mode & 0o777, statSync(paths.keyFile).mode & 0o777], [0o700, 0o600]);
  t.deepEqual(await ensureOwnPair(own), paths);
  t.deepEqual(await systemFiles.read(paths.certFile), before);
  t.regex(await shown((await load({pair: paths})).tlsOptions), /^plat\.test@\d+$/);
});

test('renews its own pair in time, and leaves a foreign one alone', async t => {
  const clock = new VirtualClock(now);
  const folder = newFolder();
  const own = {files: systemFiles, clock, folder, name: 'apiserver', host: 'plat.test', hosts: []};
  const paths = await ensureOwnPair(own);
  const first = await systemFiles.read(paths.certFile);
  const stop = new AbortController();
  renewOwnPair(own, noLog, stop.signal);

  await clock.advance(334 * 86_400_000);
  t.deepEqual(await systemFiles.read(paths.certFile), first);
  await clock.advance(3 * 86_400_000);
  stop.abort();
  t.notDeepEqual(await systemFiles.read(paths.certFile), first);

  const foreign = await pairFor('foreign', 'a');
  write(folder, 'apiserver', foreign);
  await clock.advance(1000 * 86_400_000);
  await ensureOwnPair(own);
  t.is((await systemFiles.read(paths.certFile))?.toString(), foreign.certificate);
});

test('refuses half a pair', async t => {
  const folder = newFolder();
  writeFileSync(join(folder, 'apiserver.crt'), 'x');
  const own = {files: systemFiles, clock: systemClock, folder, name: 'apiserver', host: 'h', hosts: []};

  await t.throwsAsync(ensureOwnPair(own), {message: /apiserver\.key, certificate and key must be supplied as a pair/});
  writeFileSync(join(folder, 'apiserver.key'), 'y');
  await t.throwsAsync(ensureOwnPair(own), {
    message: /cannot serve with .*apiserver\.crt and .*apiserver\.key: tls: failed to find any PEM data/,
  });
});

test('serves TLS 1.2 at least by default', async t => {
  const pair = keyPairPem(await createSelfSignedServing({host: 'h', hosts: [], now}));
  const tls = {cert: pair.certificate, key: pair.key};
  const old: ConnectionOptions = {maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0'};

  await t.throwsAsync(shown({...tls, ...secureLimits({})}, old));
  await t.notThrowsAsync(shown({...tls, ...secureLimits({minVersion: 'VersionTLS10'})}, old));
  await t.notThrowsAsync(shown({...tls, ...secureLimits({})}, {maxVersion: 'TLSv1.2'}));
  await t.throwsAsync(shown({...tls, ...secureLimits({minVersion: 'VersionTLS13'})}, {maxVersion: 'TLSv1.2'}));
  t.throws(() => secureLimits({minVersion: 'x'}), {message: 'unknown tls version "x"'});
});

test('uses the configured cipher suites, and TLS 1.3 in any case', async t => {
  const pair = keyPairPem(await createSelfSignedServing({host: 'h', hosts: [], now}));
  const limited = {cert: pair.certificate, key: pair.key, ...secureLimits({cipherSuites: ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384']})};
  const only = (ciphers: string): ConnectionOptions => ({maxVersion: 'TLSv1.2', ciphers});

  await t.notThrowsAsync(shown(limited, only('ECDHE-ECDSA-AES256-GCM-SHA384')));
  await t.throwsAsync(shown(limited, only('ECDHE-ECDSA-AES128-GCM-SHA256')));
  await t.notThrowsAsync(shown(limited, {minVersion: 'TLSv1.3'}));
});

test('accepts every suite and version by its usual name', t => {
  const unsupported = cipherSuites.filter(suite => {
    try {
      return !secureLimits({cipherSuites: [suite]}).ciphers;
    } catch (error) {
      t.regex(String(error), /does not support the cipher suites TLS_/);
      return true;
    }
  });

  // Only suites that OpenSSL itself has dropped.
  t.true(
    unsupported.every(suite => /RC4|3DES/.test(suite)),
    unsupported.join(' '),
  );
  t.true(getCiphers().length > 0);
  for (const minVersion of tlsVersions) t.truthy(secureLimits({minVersion}).minVersion);
});
