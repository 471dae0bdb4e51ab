// The scenarios of upstream's pkg/controller/certificates/clustertrustbundlepublisher/publisher_test.go:
// TestCTBPublisherSync.

import {createHash} from 'node:crypto';
import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {publisher} from '#controllers/plat-apiserver-serving-clustertrustbundle-publisher/reconcile.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import {isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {authorityPem, createAuthority} from '#src/pki/authority.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {attempt, contextOver} from './context.js';
import {aPlane} from './plane.js';

const signerName = 'plat.io/plat-apiserver-serving';
const nameOf = (content: string) => `plat.io:plat-apiserver-serving:${createHash('sha256').update(content).digest('hex').slice(0, 24)}`;

const anAuthority = async (): Promise<string> =>
  authorityPem(createAuthority(await generatePrivateKey(), {commonName: 'authority', now: Date.UTC(2026, 0, 1)})).certificate;
const [first, second] = [await anAuthority(), await anAuthority()];

const fileOf = (content: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-test-')), 'ca.crt');
  writeFileSync(file, content);
  return file;
};

const gates = '--feature-gates=ClusterTrustBundle=true';
const controller = 'plat-apiserver-serving-clustertrustbundle-publisher-controller';

const aPublishingPlane = async (content: string, {versions = ['v1beta1']}: {readonly versions?: readonly string[]} = {}) => {
  const plane = await aPlane({
    controllers: [controller],
    apiserverArgs: [gates, ...versions.map(version => `--runtime-config=certificates.plat.io/${version}=true`)],
    controllerManagerArgs: [gates, '--use-service-account-credentials', `--root-ca-file=${fileOf(content)}`],
  });
  const of = (kind: Kind) => {
    const bundles = plane.client().resource(kind as typeof kinds.clusterTrustBundles);
    return {bundles, names: async () => (await bundles.list()).items.map(({metadata}) => metadata!.name!).sort()};
  };
  return {plane, clock: plane.clock, of, ...of(kinds.clusterTrustBundles), [Symbol.asyncDispose]: () => plane.stop()};
};

test('the bundle is published under a name derived from its content, and its content is restored', async t => {
  await using at = await aPublishingPlane(first);
  const {clock, bundles, names} = at;
  const name = nameOf(first);
  t.deepEqual((await bundles.get(name)).spec, {signerName, trustBundle: first});

  await bundles.update({...(await bundles.get(name)), spec: {signerName, trustBundle: second}});
  await clock.drain();
  t.is((await bundles.get(name)).spec.trustBundle, first);
  await bundles.delete(name);
  await clock.drain();
  t.deepEqual(await names(), [name]);
});

test('other bundles of the signer are deleted, those of others are not', async t => {
  await using at = await aPublishingPlane(first);
  const {clock, bundles, names} = at;
  const {uid, resourceVersion} = (await bundles.get(nameOf(first))).metadata!;
  await bundles.create({metadata: {name: nameOf(second)}, spec: {signerName, trustBundle: second}});
  await bundles.create({metadata: {name: 'unsigned'}, spec: {trustBundle: second}});
  await bundles.create({
    metadata: {name: 'example.com:signer:one'},
    spec: {signerName: 'example.com/signer', trustBundle: second},
  });
  await clock.drain();

  t.deepEqual(await names(), ['example.com:signer:one', nameOf(first), 'unsigned']);
  const {metadata} = await bundles.get(nameOf(first));
  t.deepEqual([metadata?.uid, metadata?.resourceVersion], [uid, resourceVersion]);
});

const old = {name: nameOf(first), signerName, trustBundle: second};
const current = {...old, trustBundle: first};
const another = {name: 'plat.io:plat-apiserver-serving:another', signerName, trustBundle: first};
const foreign = [
  {name: 'unsigned', trustBundle: second},
  {name: 'example.com:signer:one', signerName: 'example.com/signer', trustBundle: second},
];
const published = nameOf(first);
const existing: readonly (readonly [
  what: string,
  bundles: readonly {name: string; signerName?: string; trustBundle: string}[],
  writes: string[],
])[] = [
  ['there are no bundles', [], [`create ${published}`]],
  ['there are bundles of others only', foreign, [`create ${published}`]],
  ['the bundle has other content', [old], [`update ${published}`]],
  ['there is another bundle as well', [current, another], [`delete ${another.name}`]],
  ['the bundle has other content, and there is another one', [old, another], [`update ${published}`, `delete ${another.name}`]],
  ['there is a bundle under another name', [another], [`create ${published}`, `delete ${another.name}`]],
  ['the bundle is as it should be', [...foreign, current], []],
];
for (const [what, bundles, writes] of existing) {
  test(`what is written if ${what}: ${writes.join(', ') || 'nothing'}`, async t => {
    await using plane = await aPlane({apiserverArgs: [gates, '--runtime-config=certificates.plat.io/v1beta1=true'], controllers: []});
    const stored = plane.client().resource(kinds.clusterTrustBundles);
    for (const {name, ...spec} of bundles) await stored.create({metadata: {name}, spec});
    const {items} = await stored.list({fieldSelector: `spec.signerName=${signerName}`});
    const context = contextOver(plane, items, {rootCaFile: fileOf(first)});
    const done: string[] = [];
    const reconcile = await publisher({
      ...context,
      writer(of) {
        const writer = context.writer(of);
        const noted =
          <O extends Frozen<KubeObject>, A extends readonly unknown[], R>(verb: string, write: (object: O, ...more: A) => R) =>
          (object: O, ...more: A): R => {
            done.push(`${verb} ${object.metadata?.name}`);
            return write(object, ...more);
          };
        return {
          ...writer,
          create: noted('create', writer.create.bind(writer)),
          update: noted('update', writer.update.bind(writer)),
          delete: noted('delete', writer.delete.bind(writer)),
        };
      },
    });
    await reconcile({namespace: '', name: 'all'}, attempt);

    t.deepEqual(done, writes);
    t.is((await stored.get(published)).spec.trustBundle, first);
  });
}

test('of a server that has only v1alpha1, that version is used', async t => {
  await using at = await aPublishingPlane(first, {versions: ['v1alpha1']});

  t.deepEqual(await at.of(kinds.clusterTrustBundlesV1alpha1).names(), [nameOf(first)]);
});

test('nothing is published if the server has no version, or there is no bundle', async t => {
  await using at = await aPublishingPlane(first, {versions: []});
  t.is((await at.plane.manager.health()).body, 'ok');

  await using other = await aPlane({apiserverArgs: [gates, '--runtime-config=certificates.plat.io/v1beta1=true'], controllers: []});
  const reconcile = await publisher(contextOver(other, [], {rootCaFile: ''}));
  await reconcile({namespace: '', name: 'all'}, attempt);
  t.deepEqual((await other.client().resource(kinds.clusterTrustBundles).list()).items, []);
});

test('a deletion that fails is tried again, after the other bundles', async t => {
  await using at = await aPublishingPlane(first);
  const {plane, bundles} = at;
  const kind = 'ClusterTrustBundle';
  const cached = [nameOf(second), 'plat.io:plat-apiserver-serving:gone'].map(name => ({
    kind,
    metadata: {name},
    spec: {signerName, trustBundle: second},
  }));
  const context = contextOver(plane, cached, {rootCaFile: fileOf(first)});
  const refused = new Error('refused');
  const deleted: string[] = [];
  const reconcile = await publisher({
    ...context,
    writer: of => ({
      ...context.writer(of),
      create: object => Promise.resolve(object),
      delete(object) {
        deleted.push(object.metadata!.name!);
        return deleted.length === 1 ? Promise.reject(refused) : context.writer(of).delete(object);
      },
    }),
  });

  t.is(await t.throwsAsync(reconcile({namespace: '', name: 'all'}, attempt)), refused);
  t.deepEqual(deleted.length, 2);
  t.true(isNotFound(await bundles.get(deleted[1]!).catch((error: unknown) => error)));
});

test('a root CA file without a certificate stops the start and names the flag', async t => {
  await t.throwsAsync(aPublishingPlane('nothing'), {
    message: /^controller plat-apiserver-serving-clustertrustbundle-publisher-controller could not be started: --root-ca-file: /,
  });
});
