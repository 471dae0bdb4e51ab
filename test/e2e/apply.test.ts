import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl, kubectlMinor} from './kubectl.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-apply-'));
const settings = join(directory, 'kubeconfig');
let plane: Plane | undefined;
let kubectl: Kubectl;

test.before(async () => {
  if (kubectlMinor === 0) return;
  plane = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
  kubectl = new Kubectl(settings);
});
test.after.always(async () => {
  kubectl?.[Symbol.dispose]();
  await plane?.stop();
  rmSync(directory, {recursive: true, force: true});
});

const sees = hasKubectl() ? test : test.skip;

const aConfigMap = (name: string, data: Readonly<Record<string, string>>): string =>
  JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, namespace: 'default'}, data});
/** The object as it is, without kubectl, whose calls take 50 ms each. */
const read = (name: string) => plane!.client().resource(kinds.configMaps).get(name, {namespace: 'default'});
const ownersOf = async (name: string): Promise<string[]> =>
  ((await read(name)).metadata?.managedFields ?? []).map(({manager, operation}) => `${manager}=${operation}`).sort();
const dataOf = async (name: string): Promise<unknown> => (await read(name)).data;

sees('kubectl apply --server-side creates, changes, removes and leaves alone', async t => {
  t.is(await kubectl.ok('apply --server-side -f -', aConfigMap('side', {a: '1', b: '1'})), 'configmap/side serverside-applied\n');
  const before = (await read('side')).metadata?.resourceVersion;
  await kubectl.ok('apply --server-side -f -', aConfigMap('side', {a: '1', b: '1'}));
  t.is((await read('side')).metadata?.resourceVersion, before);
  await kubectl.ok('apply --server-side --field-manager=other -f -', aConfigMap('side', {a: '1', c: '1'}));
  await kubectl.ok('apply --server-side -f -', aConfigMap('side', {b: '2'}));

  t.deepEqual(await dataOf('side'), {a: '1', b: '2', c: '1'});
  t.deepEqual(await ownersOf('side'), ['kubectl=Apply', 'other=Apply']);
});

sees('kubectl apply --server-side reports conflicts, and forces', async t => {
  await kubectl.ok('apply --server-side --field-manager=one -f -', aConfigMap('fought', {a: '1'}));
  await kubectl.ok('patch cm fought --type=merge --field-manager=two -p {"data":{"b":"1"}}');
  const refused = await kubectl.try('apply --server-side -f -', aConfigMap('fought', {a: '2', b: '2'}));

  t.is(refused.code, 1);
  t.regex(
    refused.stderr,
    /^error: Apply failed with 2 conflicts: conflicts with "one":\n- \.data\.a\nconflicts with "two" using v1:\n- \.data\.b\nPlease review the fields above/,
  );
  await kubectl.ok('apply --server-side --force-conflicts -f -', aConfigMap('fought', {a: '2', b: '2'}));
  t.deepEqual(await ownersOf('fought'), ['kubectl=Apply']);
});

(hasKubectl(26) ? test : test.skip)("fields of kubectl's client-side apply pass to the server without conflict", async t => {
  await kubectl.ok('apply -f -', aConfigMap('moved', {a: '1', b: '1'}));
  t.deepEqual(await ownersOf('moved'), ['kubectl-client-side-apply=Update']);
  t.regex(await kubectl.ok('apply view-last-applied cm/moved'), /data:\n {2}a: "1"\n {2}b: "1"\n/);
  await kubectl.ok('apply --server-side -f -', aConfigMap('moved', {a: '2'}));

  t.deepEqual(await dataOf('moved'), {a: '2'});
  t.regex(await kubectl.ok('apply view-last-applied cm/moved'), /data:\n {2}a: "2"\n(?! {2}b)/);
  t.is(await kubectl.ok('apply -f -', aConfigMap('moved', {a: '3'})), 'configmap/moved configured\n', 'and back');
});

sees('kubectl diff shows what would change, on either side', async t => {
  await kubectl.ok('apply --server-side -f -', aConfigMap('differs', {a: '1'}));
  t.is((await kubectl.try('diff --server-side -f -', aConfigMap('differs', {a: '1'}))).code, 0);
  for (const side of ['--server-side=true', '--server-side=false']) {
    const {code, stdout, stderr} = await kubectl.try(`diff ${side} -f -`, aConfigMap('differs', {a: '2'}));
    t.is(code, 1, stderr);
    t.regex(stdout, /^-\s+a: "1"\n\+\s+a: "2"$/m);
  }
  t.deepEqual(await dataOf('differs'), {a: '1'});
});

sees('kubectl replace, edit, label and annotate own under names of their own', async t => {
  await kubectl.ok('create -f -', aConfigMap('named', {a: '1'}));
  await kubectl.ok('replace -f -', aConfigMap('named', {a: '1', b: '1', c: '1'}));
  await kubectl.ok('label cm named x=y');
  await kubectl.ok('annotate cm named x=y');
  const editor = join(directory, 'editor.sh');
  writeFileSync(editor, '#!/bin/sh\nsed -i \'s/b: "1"/b: "edited"/\' "$1"\n', {mode: 0o755});
  const edited = await kubectl.run(['edit', 'cm', 'named'], undefined, {KUBE_EDITOR: editor});

  t.is(edited.stdout, 'configmap/named edited\n', edited.stderr);
  t.deepEqual(await dataOf('named'), {a: '1', b: 'edited', c: '1'});
  t.deepEqual(await ownersOf('named'), [
    'kubectl-annotate=Update',
    'kubectl-create=Update',
    'kubectl-edit=Update',
    'kubectl-label=Update',
    'kubectl-replace=Update',
  ]);
});

(hasKubectl(21) ? test : test.skip)('kubectl hides managed fields by default', async t => {
  await kubectl.ok('apply --server-side -f -', aConfigMap('hidden', {a: '1'}));

  t.notRegex(await kubectl.ok('get cm hidden -o yaml'), /managedFields/);
  t.regex(
    await kubectl.ok('get cm hidden -o yaml --show-managed-fields'),
    / {2}managedFields:\n {2}- apiVersion: v1\n {4}fieldsType: FieldsV1\n {4}fieldsV1:\n {6}f:data:\n {8}f:a: \{\}\n {4}manager: kubectl\n {4}operation: Apply\n/,
  );
});

sees('kubectl apply --server-side --dry-run=server changes nothing', async t => {
  t.is(
    await kubectl.ok('apply --server-side --dry-run=server -f -', aConfigMap('tried', {a: '1'})),
    'configmap/tried serverside-applied (server dry run)\n',
  );

  t.is((await kubectl.try('get cm tried')).code, 1);
});
