import {spawnSync} from 'node:child_process';
import {existsSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {fresh, open, root} from './embedded-stores.js';
import {StoreProcess} from './processes.js';
import {bytes} from './store-environment.js';

test.after.always(() => rmSync(root, {recursive: true, force: true}));

const aHolder = async (t: ExecutionContext, directory: string, command: readonly string[] = []): Promise<StoreProcess> => {
  const holder = new StoreProcess('hold', directory, 'plat', command);
  t.teardown(() => holder.kill());
  await holder.output(1);
  t.deepEqual(holder.lines, ['open']);
  return holder;
};

/** What a process that opens the store prints. */
const opened = async (directory: string, command: readonly string[] = []): Promise<string[]> => {
  const other = new StoreProcess('open', directory, 'plat', command);
  await other.end();
  return other.lines;
};

/** Ways in which the lock file gets lost under a process that uses the store. */
const losses = {
  'was deleted'(directory: string) {
    rmSync(join(directory, 'lock.mdb'));
  },
  'was deleted and made again'(directory: string) {
    rmSync(join(directory, 'lock.mdb'));
    writeFileSync(join(directory, 'lock.mdb'), '');
  },
  'was deleted with all that names the owner'(directory: string) {
    for (const file of ['lock.mdb', 'owner.json']) rmSync(join(directory, file));
  },
};

for (const [way, lose] of Object.entries(losses))
  test(`a store whose lock file ${way} while a process uses it is refused in words, until that one ended`, async t => {
    const directory = fresh();
    const holder = await aHolder(t, directory);
    lose(directory);

    const [line] = await opened(directory);
    t.regex(line!, /^the store in \S+ is in use by (another process|process \d+), whose lock\.mdb was deleted: stop that one /);
    t.regex(line!, / \("fuser -v \S+data\.mdb" on the host finds it\), or give another --data-dir$/);

    await holder.kill();
    t.deepEqual(await opened(directory), ['open']);
  });

const isolated = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** As containers are: sockets of others are not seen either. */
const contained = [...isolated, '--net'];

/** Whether a process can be started by the command; says so otherwise. */
const canRun = (t: ExecutionContext, command: readonly string[]): boolean => {
  const {status, stderr} = spawnSync(command[0]!, [...command.slice(1), 'true'], {encoding: 'utf8'});
  if (status !== 0) t.log(`skipped, since no namespace can be made: ${(stderr ?? '').trim()}`);
  return status === 0;
};

test('a second process in another namespace of process ids is refused in words', async t => {
  if (!canRun(t, isolated)) return t.pass();
  const directory = fresh();
  const holder = await aHolder(t, directory, isolated);

  t.regex((await opened(directory, isolated)).join(), /in use by process \d on \S+, in another namespace of process ids: stop that one/);
  t.regex((await opened(directory)).join(), /in use by process \d on \S+, in another namespace of process ids: stop that one/);
  await holder.kill();
  t.deepEqual(await opened(directory, isolated), ['open']);
});

test('a second process in another container is refused in words, with another lock file too', async t => {
  if (!canRun(t, contained)) return t.pass();
  const directory = fresh();
  const holder = await aHolder(t, directory, contained);

  t.regex((await opened(directory, contained)).join(), /in use by process \d on \S+, in another namespace of process ids: stop that one/);
  t.regex((await opened(directory)).join(), /in use by process \d: stop that one/);
  losses['was deleted and made again'](directory);
  t.regex((await opened(directory, contained)).join(), /in another namespace of process ids, whose lock\.mdb was deleted: stop that one/);
  await holder.kill();
  t.deepEqual(await opened(directory, contained), ['open']);
});

test('a store whose lock file was replaced is not written to any more', async t => {
  const directory = fresh();
  const store = await open(directory);
  await store.create('/a', bytes('1'));
  rmSync(join(directory, 'lock.mdb'));
  await store.create('/b', bytes('1'));
  writeFileSync(join(directory, 'lock.mdb'), '');

  await t.throwsAsync(store.create('/c', bytes('1')), {message: /its lock file was replaced: this one does not write to it any more$/});
  t.regex(String(await store.writeProblem!()), /its lock file was replaced/);
  t.is((await store.get('/b'))?.value.toString(), '1');
  await store.close();
});

test('a store that another process has claimed is not written to any more', async t => {
  const directory = fresh();
  const clock = new VirtualClock();
  const store = await open(directory, clock);
  await store.create('/a', bytes('1'));
  writeFileSync(join(directory, 'owner.json'), JSON.stringify({id: 'another'}));

  await clock.advance(2000);

  await t.throwsAsync(store.create('/b', bytes('1')), {message: /^another process has claimed the data directory/});
  t.regex(String(await store.writeProblem!()), /^another process has claimed the data directory/);
  t.is((await store.get('/a'))?.value.toString(), '1');
  await store.close();
  t.true(existsSync(join(directory, 'owner.json')));
});

test('a store that was closed names no owner', async t => {
  const directory = fresh();
  const store = await open(directory);
  t.true(existsSync(join(directory, 'owner.json')));
  await store.close();

  t.false(existsSync(join(directory, 'owner.json')));
});
