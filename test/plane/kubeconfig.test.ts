import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {parse} from 'yaml';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {checkKubeconfig, mergeKubeconfig} from '#src/plane/kubeconfig/file.js';
import {kubeconfig} from '#src/plane/kubeconfig/settings.js';
import {startPlane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl} from '#test/e2e/kubectl.js';

const folders: string[] = [];
process.on('exit', () => folders.forEach(folder => rmSync(folder, {recursive: true, force: true})));

/** A folder with a kubeconfig file that another tool wrote, if one is given. */
const aFolder = (text?: string): {folder: string; file: string} => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-kubeconfig-'));
  folders.push(folder);
  const file = join(folder, 'config');
  if (text !== undefined) writeFileSync(file, text, {mode: 0o600});
  return {folder, file};
};

const settingsOf = (ca: string, port = 6443) => ({
  server: `https://127.0.0.1:${port}`,
  ca,
  certificate: `${ca}'s admin`,
  key: `${ca}'s key`,
});

/** Merges a plane of that authority, which lives in a folder of its own by default. */
const merge = (file: string, ca = 'one', {directory = aFolder().folder, port = 6443} = {}) =>
  mergeKubeconfig(file, {settings: settingsOf(ca, port), directory, log: noLog});

interface Named {
  readonly name: string;
}
interface Config {
  readonly clusters: readonly Named[];
  readonly users: readonly Named[];
  readonly contexts: readonly Named[];
  readonly 'current-context': string;
}
const contentOf = (file: string) => parse(readFileSync(file, 'utf8')) as Config;
const namesIn = (file: string) => {
  const {clusters, users, contexts, 'current-context': current} = contentOf(file);
  return [clusters, users, contexts].map(list => list.map(({name}) => name)).concat([[current]]);
};

const others = `# of the office
apiVersion: v1
kind: Config
preferences: {}
clusters:
- cluster:
    server: https://prod.example.com # do not touch
    x-unknown: [0777, yes, 12345678901234567890, 2024-01-01]
  name: prod
users:
- name: me
  user:
    token: "0123"
contexts:
- context: {cluster: prod, user: me, namespace: shop}
  name: prod
current-context: prod
x-future: {a: 1.50}
`;

test('a kubeconfig file that is not there is made for its user alone, with a plane as the current context', async t => {
  const {file} = aFolder();
  const {names} = await merge(file, 'one', {directory: '/planes/"one"'});

  t.deepEqual(names, {context: 'plat', user: 'plat-admin'});
  t.is(readFileSync(file, 'utf8'), kubeconfig(settingsOf('one'), '/planes/"one"'));
  t.deepEqual(namesIn(file), [['plat'], ['plat-admin'], ['plat'], ['plat']]);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.false(existsSync(`${file}.lock`));
});

test('a plane is merged into a kubeconfig file beside everything that others put there', async t => {
  const {folder, file} = aFolder(others);
  await merge(file);

  t.deepEqual(namesIn(file), [['prod', 'plat'], ['me', 'plat-admin'], ['prod', 'plat'], ['plat']]);
  const lines = readFileSync(file, 'utf8').split('\n');
  const squeezed = (line: string) => line.replaceAll(/\s/g, '');
  const missing = others
    .split('\n')
    .filter(line => !line.startsWith('current-context') && !lines.some(kept => squeezed(kept) === squeezed(line)));
  t.deepEqual(missing, []);
  t.deepEqual(readdirSync(folder), ['config']);
  t.is(statSync(file).mode & 0o777, 0o600);
});

test('a plane that restarts replaces its own entries and keeps the others', async t => {
  const {file} = aFolder(others);
  const directory = aFolder().folder;
  await merge(file, 'one', {directory});
  writeFileSync(file, readFileSync(file, 'utf8').replace('    cluster: plat\n', '    cluster: plat\n    namespace: mine\n'));

  await merge(file, 'one', {directory, port: 7443});

  t.deepEqual(namesIn(file), [['prod', 'plat'], ['me', 'plat-admin'], ['prod', 'plat'], ['plat']]);
  t.regex(readFileSync(file, 'utf8'), /server: https:\/\/127\.0\.0\.1:7443\n/);
  t.regex(readFileSync(file, 'utf8'), /namespace: mine\n/);
});

test('a plane that restarts with another port changes its address alone, and keeps a comment beside it', async t => {
  const {file, folder: directory} = aFolder();
  const {names} = await merge(file, 'one', {directory});
  const first = readFileSync(file, 'utf8');
  const again = await merge(file, 'one', {directory, port: 7000});

  t.is(readFileSync(file, 'utf8'), first.replace('127.0.0.1:6443', '127.0.0.1:7000'));
  t.deepEqual(again.names, names);
  writeFileSync(file, first.replace('127.0.0.1:6443', '127.0.0.1:6443 # the usual one'));
  await merge(file, 'one', {directory, port: 7000});
  t.regex(readFileSync(file, 'utf8'), /server: https:\/\/127\.0\.0\.1:7000 # the usual one$/m);
  await again.remove();
  t.deepEqual(namesIn(file), [[], [], [], ['']]);
});

test('planes beside each other take names of their own, and that of one whose directory is gone', async t => {
  const {file} = aFolder();
  const gone = aFolder().folder;
  await merge(file, 'one');
  await merge(file, 'two', {directory: gone});
  t.deepEqual(namesIn(file), [['plat', 'plat-2'], ['plat-admin', 'plat-2-admin'], ['plat', 'plat-2'], ['plat-2']]);

  rmSync(gone, {recursive: true});
  await merge(file, 'three');

  t.deepEqual(namesIn(file), [['plat', 'plat-2'], ['plat-admin', 'plat-2-admin'], ['plat', 'plat-2'], ['plat-2']]);
  t.true(readFileSync(file, 'utf8').includes(Buffer.from('three').toString('base64')));
  t.false(readFileSync(file, 'utf8').includes(Buffer.from('two').toString('base64')));
});

for (const entry of [
  'clusters:\n- name: plat\n  cluster: {server: https://mine}\n',
  'users:\n- name: plat-admin\n  user: {token: mine}\n',
  'contexts:\n- name: plat\n  context: {cluster: mine}\n',
]) {
  test(`an entry in ${entry.split(':', 1).join('')} that another client named like a plane stays theirs`, async t => {
    const {file} = aFolder(entry);
    const {names} = await merge(file);

    t.deepEqual(names, {context: 'plat-2', user: 'plat-2-admin'});
    for (const [list, [theirs]] of Object.entries(parse(entry) as Record<string, [Named]>))
      t.deepEqual(contentOf(file)[list as 'users'][0], theirs);
  });
}

test('a plane is taken out of a kubeconfig file again, and the context that was current before is so again', async t => {
  const {file} = aFolder(others);
  const {remove} = await merge(file);

  await remove();

  t.deepEqual(contentOf(file), parse(others) as Config);
});

test("entries that are another plane's by now are not taken out", async t => {
  const {file} = aFolder();
  const directory = aFolder().folder;
  const {remove} = await merge(file, 'one', {directory});
  rmSync(directory, {recursive: true});
  await merge(file, 'two');

  await remove();

  t.deepEqual(namesIn(file), [['plat'], ['plat-admin'], ['plat'], ['plat']]);
});

test('values that other readers take for something else keep their text', async t => {
  const others = [
    'users:\n- name: e1\n  user:\n    token: 0123\n    username: \'0o17\'\n    password: "yes"\n    as: .\n    as-uid: E10',
    'preferences: # none yet',
    'colors: {on: ~, when: 2001-01-01, size: 1_000, ratio: +., long: 18446744073709551616, tagged: !!int "5", empty: null}',
    '.: &shared 1e500\nagain: *shared\n<<: {merged: -.}',
  ];
  const {file} = aFolder(`${others.join('\n')}\ncurrent-context: 0_ # mine\n`);

  const {remove} = await merge(file);
  const written = readFileSync(file, 'utf8');
  await remove();

  t.true(written.includes('\ncurrent-context: plat # mine\n'));
  for (const text of [written, readFileSync(file, 'utf8')])
    for (const line of others
      .join('\n')
      .replaceAll(/([{}])/g, '\n$1\n')
      .split(/\n|, /))
      t.true(text.includes(line.trim()), line);
});

test('a file in which something refers to what is replaced stays as it is', async t => {
  const text = 'current-context: &mine a\nother: *mine\n';
  const {file} = aFolder(text);

  await t.throwsAsync(merge(file), {message: /Unresolved alias/});
  t.is(readFileSync(file, 'utf8'), text);
});

const unreadable: readonly (readonly [string, RegExp])[] = [
  ['users: [{name: a, user: {token: secret-1}}', /line 1: /],
  ['token: secret-2\ntoken: secret-2\n', /line 2: a key is repeated/],
  ['--- {}\n--- {}\n', /it holds more than one document/],
  ['secret', /it holds no object/],
  ['kind: Deployment\n', /it is not of apiVersion v1 and kind Config/],
  ['clusters: secret\n', /clusters is not a list of objects/],
];
for (const [text, why] of unreadable) {
  test(`a file that holds ${JSON.stringify(text)} is refused as a kubeconfig file and stays as it is`, async t => {
    const {folder, file} = aFolder(text);
    for (const attempt of [() => checkKubeconfig(file), () => merge(file)]) {
      const {message} = await t.throwsAsync(attempt());
      t.true(message.startsWith(`--kubeconfig ${file}: `));
      t.regex(message, why);
      t.notRegex(message, /secret|\n/);
    }
    t.is(readFileSync(file, 'utf8'), text);
    t.deepEqual(readdirSync(folder), ['config']);
  });
}

test('a plane does not start on a kubeconfig file that cannot be merged into', async t => {
  const {file} = aFolder('clusters: 1\n');

  await t.throwsAsync(startPlane({kubeconfig: file}), {message: `--kubeconfig ${file}: clusters is not a list of objects`});
});

test('links are followed to the kubeconfig file they lead to, whether it is there or not', async t => {
  for (const text of [others, undefined]) {
    const {folder, file: target} = aFolder(text);
    const link = join(folder, 'link');
    symlinkSync('second', link);
    symlinkSync('config', join(folder, 'second'));
    await merge(link);

    t.true(lstatSync(link).isSymbolicLink());
    t.true(namesIn(target)[0]!.includes('plat'));
    t.true(lstatSync(target).isFile());
  }
});

test('files beside a kubeconfig file are neither written through nor changed', async t => {
  const {folder, file} = aFolder(others);
  const elsewhere = aFolder('untouched').file;
  symlinkSync(elsewhere, `${file}.new`);
  writeFileSync(join(folder, 'open'), '', {mode: 0o666});

  await merge(file);

  t.is(readFileSync(elsewhere, 'utf8'), 'untouched');
  t.true(lstatSync(`${file}.new`).isSymbolicLink());
  t.deepEqual(readdirSync(folder), ['config', 'config.new', 'open']);
});

test('a kubeconfig file that others could read is theirs to read no more', async t => {
  const {file} = aFolder(others);
  chmodSync(file, 0o666);

  await merge(file);

  t.is(statSync(file).mode & 0o777, 0o600);
});

(process.getuid?.() === 0 ? test : test.skip)('a kubeconfig file of another user is refused', async t => {
  const {file} = aFolder(others);
  chownSync(file, 12345, 12345);

  const {message} = await t.throwsAsync(merge(file));

  t.is(message, `--kubeconfig ${file}: it belongs to user 12345, and this is user 0: name a file of this user`);
  t.is(readFileSync(file, 'utf8'), others);
});

test('a kubeconfig file is written when the lock of another program is gone, whatever the order of writers', async t => {
  const {file} = aFolder(others);
  writeFileSync(`${file}.lock`, '');
  using _ = systemClock.keepAlive();
  const merging = ['one', 'two', 'three'].map(ca => merge(file, ca));
  systemClock.schedule(60, () => rmSync(`${file}.lock`));
  await Promise.all(merging);

  t.deepEqual(namesIn(file)[0]!.toSorted(), ['plat', 'plat-2', 'plat-3', 'prod']);
  t.false(existsSync(`${file}.lock`));
});

test('a folder that others may write is warned of', async t => {
  const {folder} = aFolder();
  const warnings: unknown[] = [];
  const log = {...noLog, warn: (...line: unknown[]) => void warnings.push(line)};
  for (const mode of [0o777, 0o1777, 0o700]) {
    chmodSync(folder, mode);
    await mergeKubeconfig(join(folder, String(mode)), {settings: settingsOf('one'), directory: folder, log});
  }

  t.deepEqual(warnings, [[{folder, writableBy: 'everybody'}, 'others may write to a folder that holds keys']]);
});

if (hasKubectl()) {
  test('kubectl works with a plane that was merged in and writes the file after it', async t => {
    const {file} = aFolder(others.replace(/ {4}x-unknown.*\n/, '')); // kubectl keeps no unknown fields.
    const plane = await startPlane({
      naming: 'kubernetes',
      kubeconfig: file,
      removeContextOnStop: true,
      controllerManagerArgs: ['--controllers='],
    });
    using kubectl = new Kubectl(file);
    t.deepEqual((await kubectl.ok('get namespaces -o name')).split('\n').slice(0, 1), ['namespace/default']);
    t.is((await kubectl.ok('config get-contexts -o name')).trim(), 'plat\nprod');
    await kubectl.ok('config set-context plat --namespace=kube-system');
    await kubectl.ok('config set-credentials late --token=t');
    t.is((await kubectl.try('get configmaps')).code, 0);

    await plane.stop();

    t.deepEqual(namesIn(file), [['prod'], ['late', 'me'], ['prod'], ['prod']]);
    t.is((await kubectl.ok('config view -o jsonpath={.users[?(@.name=="me")].user.token} --raw')).trim(), '0123');
  });
}
