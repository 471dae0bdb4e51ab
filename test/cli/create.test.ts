import {execFile} from 'node:child_process';
import {mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {packageName} from '#src/api/version.js';
import {packageSource} from '#src/cli/create/package-source.js';
import {projectNames} from '#src/cli/create/names.js';
import {operatorFiles} from '#src/cli/create/template.js';
import {customKind} from '#src/api/kind.js';
import {startPlane} from '#src/plane/plane.js';
import {isBundled, packedPackage} from './packed-package.js';
import {aDirectory, run} from './programs.js';

const exec = promisify(execFile);
const defaults = {group: 'example.com', kind: ''};

if (!isBundled) console.log('skipped: packing needs bundles that are as new as the tests (make test)');
const packed = isBundled ? test : test.skip;

packed('a new project passes its own tests as it is', async t => {
  const {home, installed} = await packedPackage();
  const project = join(home, 'backups');
  await exec(process.execPath, [join(installed, 'bin/plat'), 'create', 'operator', 'backups'], {cwd: home});
  const bin = join(project, 'node_modules/.bin');
  mkdirSync(join(project, 'node_modules/@types'), {recursive: true});
  mkdirSync(join(project, 'node_modules/@platio'));
  mkdirSync(bin);
  symlinkSync(installed, join(project, 'node_modules', packageName));
  for (const name of ['typescript', '@types/node', 'undici-types'])
    symlinkSync(join(process.cwd(), 'node_modules', name), join(project, 'node_modules', name));
  symlinkSync(`../${packageName}/bin/plat`, join(bin, 'plat'));
  symlinkSync('../typescript/bin/tsc', join(bin, 'tsc'));
  const {stdout} = await exec('npm', ['test'], {cwd: project, env: {...process.env, NODE_OPTIONS: ''}}).catch(
    (error: {stdout: string; stderr: string}) => ({
      stdout: error.stdout + error.stderr,
    }),
  );

  t.regex(stdout, /^# pass 2$/m);
  t.regex(stdout, /^# fail 0$/m);
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
  t.deepEqual(readdirSync(join(folder, 'backups/src')).sort(), ['controller.ts', 'main.ts', 'snapshot.ts']);
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
