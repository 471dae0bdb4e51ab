import {randomUUID} from 'node:crypto';
import {rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {createLog} from '#src/observe/log.js';
import {noLog} from '#src/base/log.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {lockOf} from '#src/cli/platlet/claim.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {emptyRoot, enterGroup} from '#src/platlet/system-cgroups/processes.js';
import {cleanNode} from '#src/platlet/clean/clean-node.js';
import {unshareFolder} from '#src/platlet/host/shared-folder.js';
import {isUserNamespace} from '#src/platlet/host/user-namespace.js';
import {lockAgentFolder} from '#src/platlet/host/agent-lock.js';
import type {ContainerConfig, SandboxConfig} from '#src/platlet/runtime/configs.js';
import {MemoryRuntime} from '#test/platlet/memory-runtime.js';
import {lockFile, untilContended} from '#src/platlet/host/file-lock.js';
import {checkMachine, type MachineChecksParts} from '#src/platlet/machine-checks/machine-checks.js';
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
const check = async (
  host: FolderHost,
  settings: Partial<MachineChecksParts['settings']> = {},
  {isInUserNamespace = false, toleratesIt = false} = {},
): Promise<Checked> => {
  const events: string[] = [];
  const lines: string[] = [];
  await checkMachine({
    settings: {protectKernelDefaults: false, resolvConf: '', clusterDomain: '', oomScoreAdj: -999, maxOpenFiles: 1000, ...settings},
    host,
    root: host.folders.root,
    naming: naming('kubernetes'),
    identity: {nodeName: 'node', machine: {isInUserNamespace}},
    gate: name => name === 'PlatletInUserNamespace' && toleratesIt,
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

/** A host whose kernel lets no parameter be set. */
const aLockedHost = async (): Promise<FolderHost> => {
  const host = await aHost();
  const {writeInto} = host;
  host.writeInto = async (path, text) => {
    if (path.includes('/sys/')) throw new Error(`EROFS: read-only file system, open '${path}'`);
    await writeInto(path, text);
  };
  return host;
};

test('parameters of the kernel that cannot be set end the start, in a user namespace too', async t => {
  using host = await aLockedHost();
  const all = names.filter(name => name !== 'vm/panic_on_oom').map(name => `open ${host.root}/sys/${name}: read-only file system`);
  for (const where of [{}, {toleratesIt: true}, {isInUserNamespace: true}])
    await t.throwsAsync(check(host, {}, where), {message: `[${all.join(', ')}]`});
});

test('parameters of the kernel that cannot be set in a user namespace are left as they are, with the gate', async t => {
  using host = await aLockedHost();
  const {lines} = await check(host, {}, {isInUserNamespace: true, toleratesIt: true});
  t.is(lines.length, 5);
  for (const line of lines)
    t.regex(line, /^I.*failed to set a kernel parameter, which is ignored in a user namespace.*read-only file system/);
  await t.throwsAsync(check(host, {protectKernelDefaults: true}, {isInUserNamespace: true, toleratesIt: true}), {
    message: /^\[invalid kernel flag: /,
  });
});

test('parameters that the kernel does not have end the start, also where those that cannot be set do not', async t => {
  using host = await aHost();
  const path = join(host.root, 'sys', 'kernel/panic');
  await host.removeFile(path);
  await t.throwsAsync(check(host, {}, {isInUserNamespace: true, toleratesIt: true}), {message: `open ${path}: no such file or directory`});
});

for (const [what, text, expected] of [
  ['the initial one', '         0          0 4294967295\n', false],
  ['one with other ids', '0 100000 65536\n', true],
  ['one with the ids of the host, but not all', '0 0 65536\n', true],
  ['one with a second range', '0 1000 1\n1 100000 65536\n', true],
  ['one without ids', '\n', true],
  ['unknown', '', false],
  ['in words', 'none\n', false],
] as const)
  test(`the user namespace of the agent is told by its ids: ${what}`, t => t.is(isUserNamespace(text), expected));

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

test('an agent that is to leave when another wants its lock goes on once it has it', async t => {
  const path = join(tmpdir(), `plat-lock-${randomUUID()}`);
  const clock = new VirtualClock();
  const ending = new AbortController();
  await using undo = new Undo();
  undo.defer(() => ending.abort());

  const {contended} = await lockOf({lockFile: path, exitOnLockContention: true}, {clock, log: noLog}, undo, ending.signal);

  t.not(contended, undefined);
  await rm(path);
  await clock.advance(10_000);
  await contended;
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

/** Hierarchies of a folder: cgroups are folders in it. */
const cgroupsIn = (folder: string): CgroupHierarchy => {
  const unused = () => Promise.reject(new Error('not expected'));
  const foldersOf = (group: string) => [join(folder, group)];
  return {version: 2, foldersOf, allFoldersOf: foldersOf, problemOf: unused, create: unused, apply: unused, limitsOf: unused};
};

/** A runtime with two pods of an agent, of which one has ended, and one of another agent. */
const runtimeWithPods = async (clock: VirtualClock): Promise<MemoryRuntime> => {
  const runtime = new MemoryRuntime(clock);
  for (const uid of ['one', 'two', 'other']) {
    const pod = {uid, namespace: 'default', name: uid};
    const sandbox = await runtime.runSandbox({pod, attempt: 0, hostname: uid} as SandboxConfig, '');
    const config = {name: 'app', attempt: 0, image: {image: 'x'}, annotations: {}, resources: {}} as unknown as ContainerConfig;
    await runtime.startContainer(await runtime.createContainer(sandbox, config));
    if (uid === 'two') await runtime.stopSandbox(sandbox);
  }
  return runtime;
};

const cleaning = async (host: FolderHost, runtime: MemoryRuntime, all = false) =>
  cleanNode({
    runtime,
    host,
    folders: host.folders,
    hierarchy: cgroupsIn(join(host.root, 'cgroup')),
    podsGroup: '/kubepods',
    graceSeconds: 5,
    all,
  });

test('what an agent has left is removed: its pods, cgroups, mounts, folders and logs, and nothing else', async t => {
  using host = await aHost();
  await using runtime = await runtimeWithPods(new VirtualClock());
  const {root, podLogs, containerLogs} = host.folders;
  await check(host);
  const volume = join(host.folders.volumes('one'), 'tmp', 'v');
  await host.makeFolder(volume, 0o755);
  await host.mount({type: 'tmpfs', source: 'tmpfs', target: volume});
  await host.mount({type: 'tmpfs', source: 'tmpfs', target: join(host.root, 'elsewhere')});
  await put(host, join(podLogs, 'default_two_two', 'app', '0.log'), 'x');
  await host.makeFolder(containerLogs!, 0o755);
  await host.link(join(podLogs, 'default_two_two', 'app', '0.log'), join(containerLogs!, 'two.log'));
  await host.link('/else/0.log', join(containerLogs!, 'other.log'));
  await put(host, join(root, 'pki', 'key.pem'), 'x');
  await put(host, join(root, 'checkpoints', 'one'), 'x');
  await host.makeFolder(join(host.root, 'cgroup', 'kubepods', 'burstable', 'podone'), 0o755);

  const cleaned = await cleaning(host, runtime);
  t.like(cleaned, {containers: 2, sandboxes: 2, mounts: 1, failures: []});
  t.true(cleaned.parameters.includes('vm/overcommit_memory=1 (0 before)'), cleaned.parameters.join(' '));
  t.true(runtime.calls.includes('stop app 0 5'));
  t.deepEqual(
    (await runtime.pods()).map(({pod}) => pod.uid),
    ['other'],
  );
  t.deepEqual(await host.list(root), ['pki']);
  t.deepEqual(
    host.mounted.map(({path}) => path),
    [join(host.root, 'elsewhere')],
  );
  t.deepEqual(await host.list(podLogs), []);
  t.deepEqual(await host.list(containerLogs!), ['other.log']);
  t.deepEqual(await host.list(join(host.root, 'cgroup')), []);

  await cleaning(host, runtime, true);
  t.deepEqual(await runtime.pods(), []);
});

test('what cannot be removed is said, and the rest is removed', async t => {
  using host = await aHost();
  await using runtime = await runtimeWithPods(new VirtualClock());
  for (const uid of ['one', 'two']) await host.makeFolder(host.folders.pod(uid), 0o755);
  const {stopSandbox} = runtime;
  runtime.stopSandbox = async id => (id === 'sandbox-1' ? Promise.reject(new Error('network busy')) : stopSandbox.call(runtime, id));
  const {failures} = await cleaning(host, runtime);
  t.deepEqual(failures, ['pod default/one: network busy']);
  t.deepEqual(
    (await runtime.pods()).map(({pod}) => pod.uid),
    ['one', 'other'],
  );
});

/**
 * Processes by the folder of their cgroup, which a write of `cgroup.procs` moves; kernel threads have no executable.
 */
const processHost = (processes: Record<string, string[]>, threads: readonly string[] = [], stuck: readonly string[] = []) => ({
  read: async (path: string) => Buffer.from((processes[dirname(path)] ?? []).join('\n')),
  async writeInto(path: string, pid: string) {
    if (stuck.includes(pid)) throw new Error('EINVAL: invalid argument, write');
    for (const pids of Object.values(processes)) if (pids.includes(pid)) pids.splice(pids.indexOf(pid), 1);
    (processes[dirname(path)] ??= []).push(pid);
  },
  async linkTarget(path: string) {
    if (threads.some(pid => path === `/proc/${pid}/exe`)) throw Object.assign(new Error('ENOENT'), {code: 'ENOENT'});
    return '/bin/x';
  },
});
const createdGroups = () => {
  const created: string[] = [];
  return {created, create: async (group: string) => void created.push(group), foldersOf: (group: string) => [join('/cpu', group)]};
};

test('the agent moves into its own cgroup, once', async t => {
  const processes = {'/cpu': ['1', '7']};
  const groups = createdGroups();
  await enterGroup(processHost(processes), groups, '/agent', 7);
  await enterGroup(processHost(processes, [], ['7']), groups, '/agent', 7);
  t.deepEqual(processes, {'/cpu': ['1'], '/cpu/agent': ['7']} as typeof processes);
  t.true(groups.created.includes('/agent'));
});

test('the processes of the root move into the cgroup of the system, but for the first one and threads of the kernel', async t => {
  const processes = {'/cpu': ['1', '2', '7', '8'], '/cpu/other': ['9']};
  await emptyRoot(processHost(processes, ['2']), createdGroups(), '/system');
  t.deepEqual(processes, {'/cpu': ['1', '2'], '/cpu/other': ['9'], '/cpu/system': ['7', '8']} as typeof processes);
  await t.throwsAsync(emptyRoot(processHost({'/cpu': ['5']}, [], ['5']), createdGroups(), '/system'), {
    message: 'failed to move PID 5 into the system container "/system": EINVAL: invalid argument, write',
  });
});

test('the folder of an agent is that of one agent at a time', async t => {
  using host = folderHost();
  const root = join(tmpdir(), `plat-agent-${randomUUID()}`, 'root');
  const {signal} = new AbortController();
  const first = await lockAgentFolder(host, root, signal);
  await t.throwsAsync(lockAgentFolder(host, root, signal), {message: `an agent runs with the folder ${root}`});
  await first![Symbol.asyncDispose]();
  await using _ = await lockAgentFolder(host, root, signal);
  await rm(join(root, '..'), {recursive: true});
});

test('a directory that an agent has mounted onto itself is unmounted, and not what else is mounted there', async t => {
  using host = await aHost();
  const {root} = host.folders;
  await host.makeFolder(root, 0o755);
  await host.shareMounts(root);
  await host.mount({type: 'tmpfs', source: 'tmpfs', target: join(root, 'pods')});
  await unshareFolder(host, root);
  t.is(host.mounted.length, 2);
  await host.unmount(join(root, 'pods'));
  await unshareFolder(host, root);
  t.is(host.mounted.length, 0);
  host.mounted.push({path: root, type: 'ext4', root: '/', device: '0:1', source: '/dev/sdb', options: [], isShared: false});
  await unshareFolder(host, root);
  t.is(host.mounted.length, 1);
});
