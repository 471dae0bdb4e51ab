import {execFile} from 'node:child_process';
import {mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {packageName} from '#src/api/version.js';
import {packageSource} from '#src/cli/create/package-source.js';
import {projectNames} from '#src/cli/create/names.js';
import {customKind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';
import {aProject, create} from './created-project.js';
import {isBundled} from './packed-package.js';
import {aDirectory, run} from './programs.js';

const exec = promisify(execFile);
const defaults = {group: 'example.com', kind: ''};

if (!isBundled) console.log('skipped: a project runs the bundles, which must be as new as the tests (make test)');
const bundled = isBundled ? test : test.skip;

/** A project in a folder with the package, made by a command, and commands in it. Those return what they print. */
const aBuiltProject = async (name: string) => {
  const installed = process.cwd();
  const home = aDirectory();
  const folder = join(home, name);
  const plat = join(installed, 'bin/plat');
  await exec(process.execPath, [plat, 'create', 'operator', name], {cwd: home});
  const modules = join(folder, 'node_modules');
  for (const each of ['.bin', '@types', '@platio']) mkdirSync(join(modules, each), {recursive: true});
  symlinkSync(installed, join(modules, packageName));
  for (const each of ['typescript', '@types/node', 'undici-types']) symlinkSync(join(installed, 'node_modules', each), join(modules, each));
  symlinkSync(`../${packageName}/bin/plat`, join(modules, '.bin/plat'));
  symlinkSync('../typescript/bin/tsc', join(modules, '.bin/tsc'));
  const output = (file: string, ...args: string[]) =>
    exec(file, args, {cwd: folder, env: {...process.env, NODE_OPTIONS: ''}}).then(
      ({stdout}) => stdout,
      (error: {stdout: string; stderr: string}) => error.stdout + error.stderr,
    );
  return {
    folder,
    npm: (...args: string[]) => output('npm', ...args),
    node: (...args: string[]) => output(process.execPath, ...args),
    plat: (...args: string[]) => output(process.execPath, plat, ...args),
  };
};

bundled('a new project passes its own tests as it is, and those of another kind, another version and webhooks', async t => {
  const {folder, plat, npm, node} = await aBuiltProject('volumes');

  const output = await npm('test');
  t.regex(output, /^(#|ℹ) pass 3$/m);
  t.regex(output, /^(#|ℹ) fail 0$/m);

  for (const args of ['api --kind=Cache', 'api --kind=Volume --api-version=v2', 'webhook --kind=Volume'])
    await create(...args.split(' '), `--dir=${folder}`);
  t.is(await node('node_modules/typescript/bin/tsc'), '');
  const added = ['cache', 'volume-conversion', 'volume-webhooks'].map(each => `import './${each}.test.js';\n`);
  writeFileSync(join(folder, 'dist/test/added.js'), added.join('')); // One process is faster than three.
  const more = await node('dist/test/added.js');
  t.regex(more, /^(#|ℹ) pass 6$/m);
  t.regex(more, /^(#|ℹ) fail 0$/m);

  // What create has added to the rights is what the tests record.
  t.is(await plat('generate', 'rbac', 'dist/rights', '--name=volumes', '--check'), '');
});

test('the server accepts the manifests of a project that was extended, and its examples', async t => {
  const {folder, add, text} = aProject('mail-gateways', {group: 'mail.example.com'});
  const added = await add('api', '--kind=Cache');
  await add('api', '--kind=MailGateway', '--api-version=v2');
  await add('webhook', '--kind=MailGateway');
  await add('webhook', '--kind=Cache');
  const files = [...text('manifests/kustomization.yaml').matchAll(/^ {2}- (\S+)$/gm)].map(([, file]) => join(folder, 'manifests', file!));
  const plane = await startPlane({listen: false, clock: new VirtualClock(), controllers: 'none'});
  t.teardown(() => plane.stop());
  await plane.apply([
    join(folder, 'manifests/namespace.yaml'),
    ...files.filter(file => file.includes('/crds/')),
    join(folder, 'example.yaml'),
  ]);
  await plane.apply(files);

  t.deepEqual(added.slice(0, 4), [
    'example.yaml',
    'manifests/crds/caches.mail.example.com.yaml',
    'manifests/kustomization.yaml',
    'manifests/rights.yaml',
  ]);
  const {spec} = await plane.client().resource(kinds.customResourceDefinitions).get('mailgateways.mail.example.com');
  t.deepEqual(
    spec.versions.map(({name, storage}) => [name, storage]),
    [
      ['v2', false],
      ['v1', true],
    ],
  );
  t.like(spec.conversion?.webhook?.clientConfig?.service, {namespace: 'mail-gateways', name: 'mail-gateways', path: '/convert'});
  const hooks = await plane.client().resource(kinds.validatingWebhookConfigurations).list();
  t.deepEqual(hooks.items.map(({metadata}) => metadata?.name).sort(), ['mail-gateways-caches', 'mail-gateways-mailgateways']);
  t.regex(
    text('src/operator.ts'),
    /webhooks: readonly Webhook\[\] = \[mailGatewayConversion, \.\.\.mailGatewayWebhooks, \.\.\.cacheWebhooks\];/,
  );
  const kind = customKind({group: 'mail.example.com', version: 'v1', kind: 'Cache', plural: 'caches'});
  t.like(await plane.client().resource(kind).get('example', {namespace: 'default'}), {spec: {text: 'hello', repeat: 2}});
});

test('what was changed so that it cannot be extended is left alone, with what to do', async t => {
  const {folder, add, text, write} = aProject();
  const fails = async (message: string | RegExp, ...args: string[]) => void (await t.throwsAsync(add(...args), {message}));
  const [operator, rights] = [text('src/operator.ts'), text('manifests/rights.yaml')];

  write('src/operator.ts', operator.replace('controllers = [controller]', 'controllers = all'));
  await fails(
    'src/operator.ts was changed so that it cannot be extended: add cacheController to the list controllers of it. Nothing was changed',
    'api',
    '--kind=Cache',
  );
  t.deepEqual(readdirSync(join(folder, 'src')).sort(), ['backup.ts', 'controller.ts', 'main.ts', 'operator.ts']);
  write('src/operator.ts', operator);
  write('manifests/rights.yaml', rights.slice(rights.indexOf('\n') + 1));
  await fails(
    /^manifests\/rights\.yaml was not written by plat generate rbac: .* Nothing was changed\n[^]*caches\/status/,
    'api',
    '--kind=Cache',
  );
  write('manifests/rights.yaml', rights);
  await fails('no kind Cache is declared in src: add it by plat create api --kind Cache', 'webhook', '--kind=Cache');
  await fails('Backup has the version v1 already, in src/backup.ts', 'api', '--kind=Backup');
  await fails('--api-version must be such as v1 or v2beta1, not "2"', 'api', '--kind=Cache', '--api-version=2');
  await fails('--kind is missing, such as --kind Backup', 'api');
  await add('webhook', '--kind=Backup');
  await fails('src/backup-webhooks.ts is there already: nothing was changed', 'webhook', '--kind=Backup');
  await t.throwsAsync(create('api', '--kind=Cache', `--dir=${aDirectory()}`), {
    message: /^package\.json is missing: run the command in a project/,
  });
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
  const plat = (...args: string[]) => run('plat', ['create', ...args], {}, folder);
  const made = await plat('operator', 'backups', '--kind=Snapshot', '--group=data.example.com');
  const again = await plat('operator', 'other', '--dir=backups');

  t.is(made.stdout, 'backups has an operator for the kind Snapshot. Next:\n  cd backups && npm install && npm test\n');
  t.deepEqual(readdirSync(join(folder, 'backups/src')).sort(), ['controller.ts', 'main.ts', 'operator.ts', 'snapshot.ts']);
  t.regex(readFileSync(join(folder, 'backups/manifests/crds/snapshots.data.example.com.yaml'), 'utf8'), /\n {4}kind: Snapshot\n/);
  t.deepEqual([again.code, again.stderr], [1, 'plat create: backups is not empty: name another folder with --dir\n']);
  await t.throwsAsync(create('operator'), {message: 'operator needs one name: plat create operator backups'});
});

const dependencyOf = (project: string): string | undefined =>
  (JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {dependencies: Record<string, string>}).dependencies[packageName];

test('a new project depends on the package it was made by, or on what --plat says', async t => {
  const folder = aDirectory();
  await create('operator', 'backups', `--dir=${folder}/backups`);
  await create('operator', 'others', '--plat=^0.1.0', `--dir=${folder}/others`);

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
