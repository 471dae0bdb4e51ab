import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {runWhy} from '#src/cli/why/why.js';
import {whyFlags} from '#src/options/programs/questions/why.js';
import {startPlane} from '#src/plane/plane.js';
import {commandHere} from './here.js';
import {aDirectory, clientBy, run} from './programs.js';

const whyHere = commandHere(whyFlags, runWhy);

test('plat why prints the chain to the cause, ends with 2 if something blocks, and with 0 if nothing does', async t => {
  const kubeconfig = join(aDirectory(), 'kubeconfig');
  await using _plane = await startPlane({kubeconfig});
  await using client = await clientBy(kubeconfig, 'kubernetes');
  const why = (...args: string[]) => whyHere(...args, `--platconfig=${kubeconfig}`);
  await client.resource(kinds.namespaces).create({metadata: {name: 'shop'}});
  const spec = {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}, storageClassName: 'fast'};
  await client.resource(kinds.persistentVolumeClaims).create({metadata: {name: 'data', namespace: 'shop'}, spec});

  const blocked = await run('plat', ['why', 'pvc', 'data', '-n', 'shop'], {KUBECONFIG: kubeconfig});
  t.deepEqual([blocked.code, blocked.stderr], [2, '']);
  t.is(
    blocked.stdout.replace(/since .*/, 'since THEN'),
    [
      'PersistentVolumeClaim shop/data is blocked: its storage class fast does not exist, and no volume of it matches.',
      '',
      'PersistentVolumeClaim shop/data: its storage class fast does not exist, and no volume of it matches',
      '    rule storage-class, since THEN',
      '',
      'What ends it: The creation of the storage class fast, or of a volume of this class.',
      '',
    ].join('\n'),
  );

  const {stdout} = await why('persistentvolumeclaims/data', '--namespace=shop', '-o', 'json');
  const {object, isBlocked, chain} = JSON.parse(stdout) as {object: object; isBlocked: boolean; chain: {rule: string; object: object}[]};
  t.deepEqual(object, {apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'shop', name: 'data'});
  t.deepEqual([isBlocked, chain.map(({rule}) => rule), chain[0]?.object], [true, ['storage-class'], object]);

  const free = await why('ns', 'shop');
  t.deepEqual([free.code, free.stdout], [0, 'Namespace shop waits for nothing: it is Active and is not being deleted.\n']);

  const errors = await Promise.all([why('pods', 'none'), why('wombat/a'), why('pods'), why('pods', 'a', '--context=other')]);
  t.deepEqual(
    errors.map(({code, stderr}) => [code, stderr.replace(kubeconfig, 'FILE')]),
    [
      [1, 'plat why: pods "none" not found\n'],
      [1, 'plat why: the server doesn\'t have a resource type "wombat"\n'],
      [1, 'plat why: one object must be named, as KIND NAME or KIND/NAME\n'],
      [1, 'plat why: --platconfig FILE: context "other" does not exist\n'],
    ],
  );
});

test('plat why takes the namespace of the context', async t => {
  const kubeconfig = join(aDirectory(), 'kubeconfig');
  await using _plane = await startPlane({kubeconfig, controllers: 'none'});
  await using client = await clientBy(kubeconfig, 'kubernetes');
  await client.resource(kinds.namespaces).create({metadata: {name: 'shop'}});
  await client.resource(kinds.configMaps).create({metadata: {name: 'settings', namespace: 'shop'}});
  const file = join(aDirectory(), 'other');
  writeFileSync(file, readFileSync(kubeconfig, 'utf8').replace(/( +)user: /, '$1namespace: shop\n$1user: '), {mode: 0o600});

  const {code, stdout} = await run('plat', ['why', 'cm', 'settings', `--kubeconfig=${file}`], {KUBECONFIG: ''});

  t.deepEqual(
    [code, stdout],
    [0, 'ConfigMap shop/settings waits for nothing: it is not being deleted, and objects of its kind have no status.\n'],
  );
});
