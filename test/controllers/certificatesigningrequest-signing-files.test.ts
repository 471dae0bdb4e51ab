import {setMaxListeners} from 'node:events';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {signingPlan, type SigningOptions} from '#controllers/certificatesigningrequest-signing/key-files.js';
import {signers} from '#controllers/certificatesigningrequest-signing/reconcile.js';
import {isConflict} from '#src/api/status.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {certificatePem} from '#src/pki/certificate.js';
import {startPlane} from '#src/plane/plane.js';
import {attempt, contextOver} from './context.js';
import {requestsOf} from './requests.js';
import {anAuthority, signingFiles, type SigningFiles} from './signing-files.js';
import {aSigningPlane, type TestPlane, approved, generic, hour, minute, outcome, start} from './signing-requests.js';

const noFiles: SigningOptions = {
  clusterSigningCertFile: '',
  clusterSigningKeyFile: '',
  clusterSigningDuration: 0,
  clusterSigningPlatApiserverClientCertFile: '',
  clusterSigningPlatApiserverClientKeyFile: '',
  clusterSigningPlatletClientCertFile: '',
  clusterSigningPlatletClientKeyFile: '',
  clusterSigningPlatletServingCertFile: '',
  clusterSigningPlatletServingKeyFile: '',
  clusterSigningLegacyUnknownCertFile: '',
  clusterSigningLegacyUnknownKeyFile: '',
};

test('which signers act follows from the files: all with the generic pair, none with half of it, else those with their own', t => {
  const acting = (options: Partial<SigningOptions>) =>
    signingPlan({...noFiles, ...options}).map(({signer, certificate}) => `${signer} ${certificate}`);

  t.deepEqual(acting({}), []);
  t.deepEqual(acting({clusterSigningCertFile: 'a'}), []);
  t.deepEqual(acting({clusterSigningKeyFile: 'a'}), []);
  t.deepEqual(acting({clusterSigningCertFile: 'a', clusterSigningKeyFile: 'b'}), [
    'agentServing a',
    'apiserverClientAgent a',
    'apiserverClient a',
    'legacyUnknown a',
  ]);
  t.deepEqual(acting({clusterSigningLegacyUnknownCertFile: 'a', clusterSigningLegacyUnknownKeyFile: 'b'}), ['legacyUnknown a']);
  t.throws(() => acting({clusterSigningCertFile: 'a', clusterSigningLegacyUnknownCertFile: 'a', clusterSigningLegacyUnknownKeyFile: 'b'}), {
    message: /at the same time/,
  });
  t.throws(() => acting({clusterSigningLegacyUnknownCertFile: 'a'}), {message: /cannot specify cert without key/});
  t.throws(() => acting({clusterSigningLegacyUnknownKeyFile: 'a'}), {message: /cannot specify key without cert/});
});

const bad: Readonly<Record<string, readonly [prepare: () => Promise<SigningFiles>, message: RegExp]>> = {
  'a missing file': [() => Promise.resolve(signingFiles()), /no such file or directory/],
  'an empty file': [
    async () => {
      const files = signingFiles(await anAuthority('one', start));
      writeFileSync(files.key, '');
      return files;
    },
    /missing content/,
  ],
  'a key of another': [
    async () => {
      const [files, other] = [signingFiles(await anAuthority('one', start)), signingFiles(await anAuthority('two', start))];
      return {...files, key: other.key};
    },
    /private key does not match public key/,
  ],
  'two certificates': [
    async () => {
      const files = signingFiles();
      files.write(await anAuthority('one', start), await anAuthority('two', start));
      return files;
    },
    /expected 1 certificate, found 2/,
  ],
};

for (const [what, [prepare, message]] of Object.entries(bad)) {
  test(`${what} stops the start with a line that names flags, files and cause`, async t => {
    const files = await prepare();
    const error = await t.throwsAsync(aSigningPlane(generic(files)), {message});

    t.true(error?.message.includes(`--cluster-signing-cert-file=${files.certificate} and --cluster-signing-key-file=${files.key}`));
    t.false(error?.message.includes('\n'));
  });
}

const issuerOf = async (plane: TestPlane, name: string): Promise<string | undefined> =>
  (await outcome(plane, {name, signer: plane.naming.signers.apiserverClient, usages: ['client auth']})).issued[0]?.issuer.commonName;

test('a changed pair is taken up within a minute; half of one changes nothing', async t => {
  const [one, two] = [await anAuthority('one', start), await anAuthority('two', start)];
  const [files, next] = [signingFiles(one), signingFiles(two)];
  await using plane = await aSigningPlane(generic(files));
  t.is(await issuerOf(plane, 'before'), 'one');

  writeFileSync(files.certificate, certificatePem(two.certificate));
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'half'), 'one');

  files.write(two);
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'whole'), 'two');
  t.not(next.certificate, files.certificate);
});

test('a pair with a certificate too many makes signing fail until the file is mended, and then it is caught up with', async t => {
  const [one, two] = [await anAuthority('one', start), await anAuthority('two', start)];
  const files = signingFiles(one);
  await using plane = await aSigningPlane(generic(files));
  files.write(two, one);
  await plane.clock.advance(minute);
  t.is(await issuerOf(plane, 'late'), undefined);
  t.deepEqual(
    (await requestsOf(plane).conditionsOf('late')).map(({type}) => type),
    ['Approved'],
  );

  files.write(two);
  await plane.clock.advance(5 * minute);
  t.is((await requestsOf(plane).issued('late'))[0]?.issuer.commonName, 'two');
});

test('nothing is signed by an authority that has expired, and certificates end with it', async t => {
  const files = signingFiles(await anAuthority('short', start, {lifetimeMs: hour}));
  await using plane = await aSigningPlane(generic(files));
  const {issued} = await outcome(plane, {name: 'capped', signer: plane.naming.signers.apiserverClient, usages: ['client auth']});
  t.is(issued[0]?.notAfter, start + hour);

  await plane.clock.advance(2 * hour);
  t.is(await issuerOf(plane, 'late'), undefined);
  t.deepEqual(
    (await requestsOf(plane).conditionsOf('late')).map(({type}) => type),
    ['Approved'],
  );
});

test('a status that changed meanwhile is not overwritten: the write conflicts and is tried again', async t => {
  await using plane = await aSigningPlane({controllerManagerArgs: ['--controllers=*,-csrsigning']});
  const requests = await approved(plane, {signer: plane.naming.signers.apiserverClient, usages: ['client auth']});
  const stale = await requests.get();
  await requests.resource.update({...stale, metadata: {...stale.metadata, labels: {changed: 'yes'}}});
  const files = signingFiles(await anAuthority('one', start));
  const options = {...noFiles, clusterSigningCertFile: files.certificate, clusterSigningKeyFile: files.key};

  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  t.teardown(() => ending.abort());
  const behind = await signers(contextOver(plane, [stale], options, ending.signal));
  t.true(isConflict(await t.throwsAsync(behind['apiserverClient']!({namespace: '', name: 'req'}, attempt))));
  const upToDate = await signers(contextOver(plane, [await requests.get()], options, ending.signal));
  await upToDate['apiserverClient']!({namespace: '', name: 'req'}, attempt);
  t.is((await requests.issued())[0]?.issuer.commonName, 'one');
});

test('a request approved while no signer ran is signed after the next start', async t => {
  const dataDir = mkdtempSync(join(tmpdir(), 'plat-restart-'));
  const clock = new VirtualClock(start);
  const options = {dataDir, clock, listen: false, freeze: true} as const;
  {
    await using before = await startPlane({...options, controllerManagerArgs: ['--controllers=*,-csrsigning']});
    await approved({...before, clock}, {signer: before.naming.signers.apiserverClient, usages: ['client auth']});
    t.deepEqual(await requestsOf(before).issued(), []);
  }
  await using after = await startPlane(options);
  await clock.drain();

  t.is((await requestsOf(after).issued()).length, 1);
});
