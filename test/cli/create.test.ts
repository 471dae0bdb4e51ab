import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {packageName} from '#src/api/version.js';
import {packageSource} from '#src/cli/create/package-source.js';
import {projectNames} from '#src/cli/create/names.js';
import {operatorFiles} from '#src/cli/create/template.js';
import {customKind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';
import {isBundled, packedPackage} from './packed-package.js';
import {aDirectory, run} from './programs.js';

const exec = promisify(execFile);
const defaults = {group: 'example.com', kind: ''};

if (!isBundled) console.log('skipped: packing needs bundles that are as new as the tests (make test)');
const packed = isBundled ? test : test.skip;

/** A project in a folder with the package, made and extended by commands, and the output of its tests. */
const outputOf = async (name: string, ...additions: readonly (readonly string[])[]): Promise<string> => {
  const {home, installed} = await packedPackage();
  const project = join(home, name);
  const create = (args: readonly string[], cwd: string) => exec(process.execPath, [join(installed, 'bin/plat'), 'create', ...args], {cwd});
  await create(['operator', name], home);
  for (const args of additions) await create(args, project);
  const bin = join(project, 'node_modules/.bin');
  mkdirSync(join(project, 'node_modules/@types'), {recursive: true});
  mkdirSync(join(project, 'node_modules/@platio'));
  mkdirSync(bin);
  symlinkSync(installed, join(project, 'node_modules', packageName));
  for (const each of ['typescript', '@types/node', 'undici-types'])
    symlinkSync(join(process.cwd(), 'node_modules', each), join(project, 'node_modules', each));
  symlinkSync(`../${packageName}/bin/plat`, join(bin, 'plat'));
  symlinkSync('../typescript/bin/tsc', join(bin, 'tsc'));
  return exec('npm', ['test'], {cwd: project, env: {...process.env, NODE_OPTIONS: ''}}).then(
    ({stdout}) => stdout,
    (error: {stdout: string; stderr: string}) => error.stdout + error.stderr,
  );
};

packed('a new project passes its own tests as it is', async t => {
  const output = await outputOf('backups');

  t.regex(output, /^# pass 3$/m);
  t.regex(output, /^# fail 0$/m);
});

packed('a project with another kind, another version and webhooks passes its own tests as it is', async t => {
  const output = await outputOf(
    'volumes',
    ['api', '--kind', 'Cache'],
    ['api', '--kind', 'Volume', '--api-version', 'v2'],
    ['webhook', '--kind', 'Volume'],
  );

  t.regex(output, /^# pass 9$/m);
  t.regex(output, /^# fail 0$/m);
});

/** A project in a folder, and what is added to it. */
const aProject = () => {
  const folder = aDirectory();
  for (const [path, text] of Object.entries(operatorFiles(projectNames('backups', defaults), 'file:/plat'))) {
    mkdirSync(dirname(join(folder, path)), {recursive: true});
    writeFileSync(join(folder, path), text);
  }
  const add = (args: readonly string[]) => run('plat', ['create', ...args], {}, folder);
  return {folder, add, text: (path: string) => readFileSync(join(folder, path), 'utf8')};
};

test('the server accepts the manifests of a project that was extended', async t => {
  const {folder, add, text} = aProject();
  const added = await add(['api', '--kind=Cache']);
  await add(['api', '--kind=Backup', '--api-version=v2']);
  await add(['webhook', '--kind=Backup']);
  await add(['webhook', '--kind=Cache']);
  const files = [...text('manifests/kustomization.yaml').matchAll(/^ {2}- (\S+)$/gm)].map(([, file]) => join(folder, 'manifests', file!));
  const plane = await startPlane({
    listen: false,
    clock: new VirtualClock(),
    manifests: [join(folder, 'manifests/namespace.yaml'), ...files],
  });
  t.teardown(() => plane.stop());

  t.deepEqual(added.stdout.split('\n').slice(0, 3), [
    'manifests/crds/caches.example.com.yaml',
    'manifests/kustomization.yaml',
    'manifests/rights.yaml',
  ]);
  const {spec} = await plane.client().resource(kinds.customResourceDefinitions).get('backups.example.com');
  t.deepEqual(
    spec.versions.map(({name, storage}) => [name, storage]),
    [
      ['v2', false],
      ['v1', true],
    ],
  );
  t.like(spec.conversion?.webhook?.clientConfig?.service, {namespace: 'backups', name: 'backups', path: '/convert'});
  const hooks = await plane.client().resource(kinds.validatingWebhookConfigurations).list();
  t.deepEqual(hooks.items.map(({metadata}) => metadata?.name).sort(), ['backups-backups', 'backups-caches']);
  t.regex(text('src/operator.ts'), /webhooks: readonly Webhook\[\] = \[backupConversion, \.\.\.backupWebhooks, \.\.\.cacheWebhooks\];/);
});

test('what was changed so that it cannot be extended is left alone, with what to do', async t => {
  const {folder, add, text} = aProject();
  const fails = async (...args: string[]) => (await add(args)).stderr;
  const before = text('src/operator.ts');
  writeFileSync(join(folder, 'src/operator.ts'), before.replace('controllers = [controller]', 'controllers = all'));

  t.is(
    await fails('api', '--kind=Cache'),
    'plat create: src/operator.ts was changed so that it cannot be extended: add cacheController to the list controllers of it. Nothing was changed\n',
  );
  t.deepEqual(readdirSync(join(folder, 'src')).sort(), ['backup.ts', 'controller.ts', 'main.ts', 'operator.ts']);
  writeFileSync(join(folder, 'src/operator.ts'), before);
  t.is(await fails('webhook', '--kind=Cache'), 'plat create: no kind Cache is declared in src: add it by plat create api --kind Cache\n');
  t.is(await fails('api', '--kind=Backup'), 'plat create: Backup has the version v1 already, in src/backup.ts\n');
  t.is(await fails('api', '--kind=Cache', '--api-version=2'), 'plat create: --api-version must be such as v1 or v2beta1, not "2"\n');
  t.is(await fails('api'), 'plat create: --kind is missing, such as --kind Backup\n');
  await add(['webhook', '--kind=Backup']);
  t.is(await fails('webhook', '--kind=Backup'), 'plat create: src/backup-webhooks.ts is there already: nothing was changed\n');
  t.regex(
    await fails('api', '--kind=Cache', `--dir=${aDirectory()}`),
    /^plat create: package\.json is missing: run the command in a project/,
  );
});

test('the server accepts the manifests of a new project, and its example', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-create-'));
  t.teardown(() => rmSync(folder, {recursive: true, force: true}));
  const files = Object.entries(operatorFiles(projectNames('mail-gateways', {group: 'mail.example.com', kind: ''}), 'file:/plat'));
  const manifests = files.filter(([path]) => path.endsWith('.yaml') && !/kustomization|workflows/.test(path));
  const paths = manifests.map(([path, text]) => {
    const file = join(folder, path.replaceAll('/', '-'));
    writeFileSync(file, text);
    return file;
  });
  const plane = await startPlane({listen: false, clock: new VirtualClock(), manifests: paths});
  t.teardown(() => plane.stop());

  const kind = customKind({group: 'mail.example.com', version: 'v1', kind: 'MailGateway', plural: 'mailgateways'});
  t.like(await plane.client().resource(kind).get('example', {namespace: 'default'}), {spec: {text: 'hello', repeat: 2}});
});

for (const [name, kind, plural] of [
  ['backups', 'Backup', 'backups'],
  ['policies', 'Policy', 'policies'],
  ['mail-boxes', 'MailBox', 'mailboxes'],
  ['address-operator', 'Address', 'addresses'],
  ['db', 'Db', 'dbs'],
] as const)
  test(`an operator for ${name} has the kind ${kind}`, t => {
    t.like(projectNames(name, defaults), {kind, plural});
  });

for (const [name, options, message] of [
  ['Backups', defaults, /^the name "Backups" must be lower-case letters/],
  ['backups', {...defaults, group: 'example'}, /^--group must be a domain such as example\.com, not "example"$/],
  ['backups', {...defaults, kind: 'backup'}, /^--kind must be a name in CamelCase such as Backup, not "backup"$/],
  ['config-maps', defaults, /^the kind ConfigMap would hide a name that the project needs: choose another with --kind$/],
] as const)
  test(`a project is refused that ${String(message)}`, t => {
    t.throws(() => projectNames(name, options), {message});
  });

test('plat create writes a project and refuses a folder that is not empty', async t => {
  const folder = aDirectory();
  const create = (...args: string[]) => run('plat', ['create', ...args], {}, folder);
  const made = await create('operator', 'backups', '--kind=Snapshot', '--group=data.example.com');
  const again = await create('operator', 'other', '--dir=backups');

  t.is(made.stdout, 'backups has an operator for the kind Snapshot. Next:\n  cd backups && npm install && npm test\n');
  t.deepEqual(readdirSync(join(folder, 'backups/src')).sort(), ['controller.ts', 'main.ts', 'operator.ts', 'snapshot.ts']);
  t.regex(readFileSync(join(folder, 'backups/manifests/crds/snapshots.data.example.com.yaml'), 'utf8'), /\n {4}kind: Snapshot\n/);
  t.deepEqual([again.code, again.stderr], [1, 'plat create: backups is not empty: name another folder with --dir\n']);
  t.is((await create('operator')).stderr, 'plat create: operator needs one name: plat create operator backups\n');
});

const dependencyOf = (project: string): string | undefined =>
  (JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {dependencies: Record<string, string>}).dependencies[packageName];

test('a new project depends on the package it was made by, or on what --plat says', async t => {
  const folder = aDirectory();
  await run('plat', ['create', 'operator', 'backups'], {}, folder);
  await run('plat', ['create', 'operator', 'others', '--plat=^0.1.0'], {}, folder);

  t.deepEqual([dependencyOf(join(folder, 'backups')), dependencyOf(join(folder, 'others'))], [`file:${process.cwd()}`, '^0.1.0']);
});

test('a project refers to the tarball that the package was installed from, while it is there', t => {
  const home = realpathSync(aDirectory());
  const installed = join(home, 'node_modules', packageName);
  mkdirSync(installed, {recursive: true});
  const source = {resolved: 'file:packed/platio-plat-0.1.0.tgz'};
  writeFileSync(join(home, 'node_modules/.package-lock.json'), JSON.stringify({packages: {[`node_modules/${packageName}`]: source}}));
  t.is(packageSource(installed), `file:${installed}`);

  mkdirSync(join(home, 'packed'));
  writeFileSync(join(home, 'packed/platio-plat-0.1.0.tgz'), '');
  t.is(packageSource(installed), `file:${home}/packed/platio-plat-0.1.0.tgz`);
});
