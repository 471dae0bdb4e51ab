import {randomUUID} from 'node:crypto';
import {rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {createLog} from '#src/observe/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {lockFile, untilContended} from '#src/platlet/host/file-lock.js';
import {checkMachine, type MachineChecksParts} from '#src/platlet/agent/machine-checks.js';
import {folderHost, put, textOf, type FolderHost} from '#test/platlet/host.js';

const names = [
  'vm/overcommit_memory',
  'vm/panic_on_oom',
  'kernel/panic',
  'kernel/panic_on_oops',
  'kernel/keys/root_maxkeys',
  'kernel/keys/root_maxbytes',
];

interface Checked {
  readonly events: readonly string[];
  readonly lines: readonly string[];
}

/** Checks a machine whose parameters are files of the host; a missing folder is one that the agent may not write to. */
const check = async (host: FolderHost, settings: Partial<MachineChecksParts['settings']> = {}): Promise<Checked> => {
  const events: string[] = [];
  const lines: string[] = [];
  await checkMachine({
    settings: {protectKernelDefaults: false, resolvConf: '', clusterDomain: '', oomScoreAdj: -999, maxOpenFiles: 1000, ...settings},
    host,
    naming: naming('kubernetes'),
    nodeName: 'node',
    events: {normal() {}, warning: (_, reason, message) => void events.push(`${reason}: ${message}`)},
    log: createLog({clock: new VirtualClock(), program: 'kubelet', write: line => void lines.push(line)}),
    parameters: join(host.root, 'sys'),
    ownFolder: join(host.root, 'self'),
  });
  return {events, lines};
};

const aHost = async (): Promise<FolderHost> => {
  const host = folderHost();
  await put(host, join(host.root, 'self', 'oom_score_adj'), '0\n');
  for (const name of names) await put(host, join(host.root, 'sys', name), '0\n');
  return host;
};

test('parameters of the kernel are set, or end the start if they are protected', async t => {
  using host = await aHost();
  await t.throwsAsync(check(host, {protectKernelDefaults: true}), {
    message:
      /^\[invalid kernel flag: vm\/overcommit_memory, expected value: 1, actual value: 0, invalid kernel flag: kernel\/panic, expected value: 10, actual value: 0, /,
  });
  t.deepEqual((await check(host)).lines, []);
  const values = await Promise.all(names.map(name => textOf(host, join(host.root, 'sys', name))));
  t.deepEqual(values, ['1', '0\n', '10', '1', '1000000', '25000000']);
  await t.notThrowsAsync(check(host, {protectKernelDefaults: true}));
});

test('parameters of the kernel that cannot be set are one warning', async t => {
  using host = folderHost();
  await put(host, join(host.root, 'self', 'oom_score_adj'), '0\n');
  const {lines} = await check(host);
  t.is(lines.length, 1);
  t.regex(lines[0]!, /^W.*failed to set kernel parameters.*overcommit_memory.*root_maxbytes/);
});

const domains = (count: number, length = 1): string => `search ${Array.from({length: count}, () => 'a'.repeat(length)).join(' ')}`;

const resolvers: readonly (readonly [what: string, text: string | undefined, clusterDomain: string, event?: string])[] = [
  ['no file', undefined, '', 'open FILE: no such file or directory'],
  ['32 domains', domains(32), ''],
  ['33 domains', domains(33), '', "Resolv.conf file 'FILE' contains search line consisting of more than 32 domains!"],
  ['29 domains in a cluster', domains(29), 'c.local'],
  ['30 domains in a cluster', domains(30), 'c.local', "Resolv.conf file 'FILE' contains search line consisting of more than 29 domains!"],
  ['a long domain', domains(1, 254), '', 'Resolv.conf file "FILE" contains a search path which length is more than allowed 253 chars!'],
  ['long domains', domains(20, 120), '', "Resolv.conf file 'FILE' contains search line which length is more than allowed 2048 chars!"],
];

for (const [what, text, clusterDomain, event] of resolvers)
  test(`a resolver file with ${what} gives ${event ? 'an event' : 'no event'}`, async t => {
    using host = await aHost();
    const path = join(host.root, 'resolv.conf');
    if (text !== undefined) await put(host, path, text);
    const {events} = await check(host, {resolvConf: path, clusterDomain});
    t.deepEqual(events, event ? [`CheckLimitsForResolvConf: ${event.replace('FILE', path)}`] : []);
  });

test('the agent sets how soon the kernel ends it and how many files it may open, and goes on where it cannot', async t => {
  using host = await aHost();
  await check(host, {oomScoreAdj: -500, maxOpenFiles: 4096});
  t.is(await textOf(host, join(host.root, 'self', 'oom_score_adj')), '-500');
  t.deepEqual(host.fileLimits, [4096]);
  await host.removeFile(join(host.root, 'self', 'oom_score_adj'));
  host.limitOpenFiles = () => Promise.reject(new Error('Operation not permitted'));
  const {lines} = await check(host);
  t.deepEqual(
    lines.map(line => /\] "([^"]+)"/.exec(line)?.[1]),
    ['failed to apply the oom_score_adj of the agent', 'failed to set the limit of open files of the agent'],
  );
});

const gone = async (path: string) => rm(path, {force: true});

test('a locked file is one that others wait for, and have next', async t => {
  const path = join(tmpdir(), `plat-lock-${randomUUID()}`);
  const {signal} = new AbortController();
  const first = await lockFile(path, signal);
  t.false(await first.isContended());
  const waiting = lockFile(path, signal);
  while (!(await first.isContended())) await setImmediate();
  await first[Symbol.asyncDispose]();
  await using second = await waiting;
  t.false(await second.isContended());
  await gone(path);
  t.true(await second.isContended());
});

test('waiting for a locked file ends with the signal', async t => {
  const path = join(tmpdir(), `plat-lock-${randomUUID()}`);
  await using _ = await lockFile(path, new AbortController().signal);
  const stopping = new AbortController();
  const waiting = lockFile(path, stopping.signal);
  stopping.abort();
  await t.throwsAsync(waiting, {name: 'AbortError'});
  await gone(path);
});

test('another process that wants a lock is noticed within a second or two', async t => {
  const clock = new VirtualClock();
  let isContended = false;
  let isOver = false;
  const until = untilContended({isContended: async () => isContended}, clock, new AbortController().signal).then(() => (isOver = true));
  await clock.advance(5_000);
  t.false(isOver);
  isContended = true;
  await clock.advance(1_000);
  await until;
  t.pass();
});
