import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {publisher} from '#controllers/root-ca-certificate-publisher/reconcile.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import type {Plane} from '#src/plane/plane.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';

const controllers = ['root-ca-certificate-publisher-controller'];
const name = 'plat-root-ca.crt';
const annotation = 'plat.io/description';

const published = (plane: Plane, namespace = 'default') => plane.client().resource(kinds.configMaps).get(name, {namespace});

test('every namespace, old or new, gets the bundle with a description', async t => {
  await using plane = await aPlane({controllers});
  const {clock} = plane;
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: 'new'}});
  await clock.drain();

  for (const namespace of ['default', 'new', plane.naming.systemNamespace]) {
    const {data, metadata} = await published(plane, namespace);
    t.deepEqual(Object.keys(data ?? {}), ['ca.crt']);
    t.is(parseCertificateBundle(data!['ca.crt']!).length, 1);
    t.is(
      metadata?.annotations?.[annotation],
      'Contains a CA bundle that can be used to verify the plat-apiserver when using internal endpoints such as the internal service IP or plat.default.svc. No other usage is guaranteed across distributions of plat clusters.',
    );
  }
});

for (const [what, change] of [
  ['another bundle', {data: {'ca.crt': 'mine'}}],
  ['a key beside it', {data: {'ca.crt': 'mine', extra: 'mine'}}],
] as const) {
  test(`${what} is replaced as a whole`, async t => {
    await using plane = await aPlane({controllers});
    const {clock} = plane;
    const before = await published(plane);
    await plane
      .client()
      .resource(kinds.configMaps)
      .update({...before, ...change});
    await clock.drain();

    t.deepEqual((await published(plane)).data, before.data);
  });
}

test('a description is written again when it is taken away, and left alone in other words', async t => {
  await using plane = await aPlane({controllers});
  const {clock} = plane;
  const configMaps = plane.client().resource(kinds.configMaps);
  const {metadata} = await published(plane);
  const annotate = async (annotations: Record<string, string>) => {
    const configMap = await published(plane);
    await configMaps.update({...configMap, metadata: {...configMap.metadata, annotations}});
  };
  await annotate({[annotation]: 'my words'});
  await clock.drain();
  t.is((await published(plane)).metadata?.annotations?.[annotation], 'my words');
  await annotate({});
  await clock.drain();

  t.is((await published(plane)).metadata?.annotations?.[annotation], metadata?.annotations?.[annotation]);
});

test('a deleted bundle is created again', async t => {
  await using plane = await aPlane({controllers});
  const {clock} = plane;
  const before = await published(plane);
  await plane.client().resource(kinds.configMaps).delete(name, {namespace: 'default'});
  await clock.drain();

  t.not((await published(plane)).metadata?.uid, before.metadata?.uid);
});

test('a bundle without a certificate stops the start and names the flag', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-test-')), 'ca.crt');
  writeFileSync(file, 'nothing');

  await t.throwsAsync(aPlane({controllers, controllerManagerArgs: [`--root-ca-file=${file}`]}), {
    message: `controller root-ca-certificate-publisher-controller could not be started: --root-ca-file: error parsing root-ca-file at ${file}: data does not contain any valid RSA or ECDSA certificates`,
  });
});

test('without a file the bundle of the connection settings is published', async t => {
  await using plane = await aPlane({controllers: ['namespace-controller']});
  const reconcile = await publisher({...contextOver(plane, [], {rootCaFile: ''}), serverAuthority: 'the bundle'});
  await reconcile({namespace: '', name: 'default'}, attempt);

  t.deepEqual((await published(plane)).data, {'ca.crt': 'the bundle'});
});

test('a namespace that is gone is not tried again', async t => {
  await using plane = await aPlane({controllers});
  const reconcile = await publisher(contextOver(plane, [], {rootCaFile: ''}));

  t.deepEqual(await reconcile({namespace: '', name: 'gone'}, attempt), {kind: 'settled'});
});
