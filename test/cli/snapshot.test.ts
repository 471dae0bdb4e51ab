import {cpSync, createReadStream, existsSync, readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {runSnapshot} from '#src/cli/snapshot/snapshot.js';
import {snapshotFlags} from '#src/options/programs/snapshot.js';
import {startPlane} from '#src/plane/plane.js';
import {SnapshotReader} from '#src/storage/snapshot/format.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';
import {commandHere} from './here.js';
import {aDirectory, run, type Ended} from './programs.js';

const snapshotHere = commandHere(snapshotFlags, runSnapshot);

/** The output of a command; throws what it prints on standard error. */
const outputOf = ({code, stdout, stderr}: Ended): string => {
  if (code !== 0) throw new Error(stderr.trimEnd());
  return stdout.trimEnd();
};

/** Runs `plat snapshot`. Resolves to its output; rejects with what it prints on standard error. */
const snapshot = async (...args: readonly string[]): Promise<string> => outputOf(await snapshotHere(...args));

/** Runs it in a process of its own, as is done while a plane uses the store. */
const snapshotApart = async (...args: readonly string[]): Promise<string> => outputOf(await run('plat', ['snapshot', ...args]));

const options = {listen: false, controllerManagerArgs: ['--controllers=']};

const aPlane = (dataDir: string) => startPlane({...options, dataDir});

const aConfigMap = (name: string, data: Record<string, string>): KubeObject =>
  ({metadata: {name, namespace: 'default'}, data}) as KubeObject;

/** Makes a plane's data directory with a hundred config maps. */
const fill = async (): Promise<string> => {
  const dataDir = join(aDirectory(), 'plane');
  await using plane = await aPlane(dataDir);
  const maps = plane.client().resource(kinds.configMaps);
  for (let i = 0; i < 100; i++) await maps.create(aConfigMap(`c${i}`, {number: String(i)}));
  return dataDir;
};

let original: Promise<string> | undefined;
/** A copy of such a directory, which is made once. */
const filled = async (): Promise<string> => {
  const dataDir = join(aDirectory(), 'plane');
  cpSync(await (original ??= fill()), dataDir, {recursive: true});
  return dataDir;
};

const dataOf = async (dataDir: string): Promise<ReadonlyMap<string, unknown>> => {
  await using plane = await aPlane(dataDir);
  const {items} = await plane.client().resource(kinds.configMaps).list({namespace: 'default'});
  return new Map(items.map(({metadata, data}) => [metadata!.name!, data]));
};

test('a plane that runs is saved, and another one made from the file has its data, with later versions than any client has seen', async t => {
  const dataDir = await filled();
  const file = join(aDirectory(), 'saved');
  let version: string;
  {
    await using plane = await aPlane(dataDir);
    t.regex(await snapshotApart('save', file, `--data-dir=${dataDir}`), /^saved \d+ keys of .*store at revision \d+ to .*saved$/);
    const late = await plane.client().resource(kinds.configMaps).create(aConfigMap('late', {}));
    version = late.metadata!.resourceVersion!;
  }
  t.is(statSync(file).mode & 0o777, 0o600);
  const copy = join(aDirectory(), 'copy');
  const restored = await snapshotApart('restore', file, `--data-dir=${copy}`);

  const status = JSON.parse(await snapshot('status', file, '-o=json')) as {keys: number; content: string; naming: string};
  t.true(restored.endsWith(`restored ${status.keys} keys to ${copy}/store, content ${status.content.slice(0, 16)}`));
  t.is(status.naming, 'kubernetes');
  const data = await dataOf(copy);
  t.is(data.get('late'), undefined);
  t.deepEqual(data.get('c99'), {number: '99'});
  await using plane = await aPlane(copy);
  const created = await plane.client().resource(kinds.configMaps).create(aConfigMap('new', {}));
  t.true(Number(created.metadata!.resourceVersion) > Number(version) + 900_000);
  await t.throwsAsync(snapshot('restore', file, `--data-dir=${copy}`), {
    message: `plat snapshot: there is a store in ${copy}/store already: remove it, or give another directory`,
  });
});

test('a damaged file restores nothing and says what is wrong', async t => {
  const folder = aDirectory();
  const file = join(folder, 'saved');
  await snapshot('save', file, `--data-dir=${await filled()}`);
  const bytes = readFileSync(file);
  const changed = Buffer.from(bytes);
  changed[bytes.length - 12]! ^= 1;
  for (const [name, content, reason] of [
    ['cut', bytes.subarray(0, bytes.length / 2), 'it is cut off: unexpected end of file'],
    ['short of its last bytes', bytes.subarray(0, -8), 'it is cut off: unexpected end of file'],
    ['short of one byte', bytes.subarray(0, -1), 'it is cut off: unexpected end of file'],
    ['changed', changed, 'its .* damaged'],
    ['other', Buffer.from('hello'), 'it is not a snapshot of plat'],
    ['empty', Buffer.alloc(0), 'it is not a snapshot of plat'],
  ] as const) {
    writeFileSync(join(folder, name), content);
    const target = join(folder, `plane-${name}`);
    await t.throwsAsync(snapshot('restore', join(folder, name), `--data-dir=${target}`), {
      message: new RegExp(`cannot be used: ${reason}`),
    });
    t.false(existsSync(join(target, 'store')));
  }
  t.deepEqual(
    readdirSync(folder).filter(name => name.startsWith('.')),
    [],
  );
});

test('a record that was changed in the file is found by the hash', async t => {
  const file = join(aDirectory(), 'saved');
  await snapshot('save', file, `--data-dir=${await filled()}`);
  const reader = await SnapshotReader.open(createReadStream(file), value => (value.includes('"99"') ? Buffer.from('other') : value));

  await t.throwsAsync(
    async () => {
      for await (const _ of reader.records());
    },
    {message: 'its hash does not match its content'},
  );
});

(hasEtcd ? test : test.skip)('a store moves to etcd and back with one command each, and its content keeps its hash', async t => {
  if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);
  const server = await EtcdServer.start();
  t.teardown(() => server.stop());
  const dataDir = await filled();
  const back = join(aDirectory(), 'back');

  const there = await snapshot('copy', `--data-dir=${dataDir}`, `--to-kvstore-servers=${server.url}`);
  const home = await snapshot('copy', `--kvstore-servers=${server.url}`, `--to-data-dir=${back}`);

  const contentOf = (line: string): string | undefined => /content (\w+)$/.exec(line)?.[1];
  t.truthy(contentOf(there));
  t.is(contentOf(home), contentOf(there));
  t.is(contentOf(await snapshot('verify', `--data-dir=${dataDir}`)), contentOf(there));
  t.is((await dataOf(back)).size, (await dataOf(dataDir)).size);
  {
    await using plane = await startPlane({...options, apiserverArgs: [`--kvstore-servers=${server.url}`]});
    const found = await plane.client().resource(kinds.configMaps).get('c42', {namespace: 'default'});
    t.deepEqual(found.data, {number: '42'});
  }
  await t.throwsAsync(snapshot('copy', `--data-dir=${dataDir}`, `--to-kvstore-servers=${server.url}`), {
    message: /^plat snapshot: there are \d+ keys below \/registry already: remove them, or give another --kvstore-prefix$/,
  });
});

for (const [args, message] of [
  [['save'], 'save needs the name of a file, or -'],
  [['keep', 'x'], 'the first argument must be save, restore, status, verify or copy, not "keep"'],
  [['copy'], 'copy needs --to-data-dir, --to-store-dir or --to-kvstore-servers'],
  [['save', 'x', '--to-data-dir=y'], '--to-data-dir, --to-store-dir and --to-kvstore-servers are flags of copy'],
  [['save', 'x', '--data-dir=/nowhere'], 'there is no store in /nowhere/store'],
] as const)
  test(`plat snapshot ${args.join(' ')} is refused in one line`, async t => {
    await t.throwsAsync(snapshot(...args), {message: `plat snapshot: ${message}`});
  });
