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

test('a store whose lock file was deleted while a process uses it is refused in words, until that one ended', async t => {
  const directory = fresh();
  const holder = await aHolder(t, directory);
  rmSync(join(directory, 'lock.mdb'));

  const [line] = await opened(directory);
  t.true(line?.startsWith(`the store in ${directory} is in use by process `), line);
  t.regex(
    line!,
    /whose lock\.mdb was deleted: stop that one \("fuser -v \S+data\.mdb" on the host finds it\), or give another --data-dir$/,
  );

  await holder.kill();
  rmSync(join(directory, 'lock.mdb'), {force: true});
  t.deepEqual(await opened(directory), ['open']);
});

const isolated = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];

test('a second process in another namespace of process ids is refused in words', async t => {
  const {status, stderr} = spawnSync(isolated[0]!, [...isolated.slice(1), 'true'], {encoding: 'utf8'});
  if (status !== 0) {
    t.log(`skipped, since no namespace can be made: ${(stderr ?? '').trim()}`);
    return t.pass();
  }
  const directory = fresh();
  const holder = await aHolder(t, directory, isolated);

  t.regex((await opened(directory, isolated)).join(), /in use by process 1 on \S+, in another namespace of process ids: stop that one/);
  t.regex((await opened(directory)).join(), /in use by process 1: stop that one/);
  await holder.kill();
  t.deepEqual(await opened(directory, isolated), ['open']);
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
