import {join} from 'node:path';
import test from 'ava';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {formatMemoryState, parseMemoryState} from '#src/platlet/memory-manager/checkpoint.js';
import {managerRejection} from '#src/platlet/pod/admission/managers.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import {managersOf, savedBy, type ManagersOptions} from '#test/platlet/cpu-manager/managers.js';
import {folderHost, textOf, type FolderHost} from '#test/platlet/host.js';

const gib = 2 ** 30;

/** Two NUMA nodes with 4 GiB each, of which 512 MiB are reserved and 8 MiB are huge pages. */
const static_ = {
  cpuManagerPolicy: 'none',
  memoryManagerPolicy: 'Static',
  reservedSystemCPUs: '',
  systemReserved: {memory: '1Gi'},
  reservedMemory: [0, 1].map(numaNode => ({numaNode, limits: {memory: '512Mi'}})),
};

const opened = (host: FolderHost, {settings, ...options}: ManagersOptions = {}): Promise<ResourceManagers> =>
  managersOf(host, {
    machine: {sockets: 2, coresPerNuma: 2, memoryBytes: 8 * gib},
    settings: {...static_, ...settings} as ManagersOptions['settings'] & object,
    ...options,
  });

const aPod = (uid: string, memory: readonly string[], init: readonly string[] = [], more: Readonly<Record<string, string>> = {}): Pod => {
  const containersOf = (prefix: string, amounts: readonly string[]): object[] =>
    amounts.map((amount, at) => {
      const amountOf = {cpu: '100m', memory: amount, ...more};
      return {name: `${prefix}${at}`, image: 'app', resources: {requests: amountOf, limits: amountOf}};
    });
  return {
    metadata: {uid, name: uid, namespace: 'default'},
    spec: {initContainers: containersOf('init', init), containers: containersOf('app', memory)},
  } as Pod;
};

const nodesOf = (managers: ResourceManagers, {spec, ...pod}: Frozen<Pod>): string =>
  [...(spec?.initContainers ?? []), ...spec!.containers]
    .map(container => managers.assignedTo({spec: spec!, ...pod}, container).memoryNodes)
    .join(' ');

const stateOf = async (host: FolderHost, managers: ResourceManagers) => {
  await savedBy(managers);
  return parseMemoryState((await textOf(host, join(host.folders.root, 'memory_manager_state')))!, 'Static');
};

test('the state file has the format and the checksum of the original', t => {
  const text =
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}';

  t.is(formatMemoryState('static', parseMemoryState(text, 'static')), text);
  t.is(
    formatMemoryState('None', {machine: new Map(), assignments: new Map()}),
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
  );
  t.throws(() => parseMemoryState(text.replace('4215593881', '101010'), 'static'), {message: 'checkpoint is corrupted'});
  t.throws(() => parseMemoryState(text, 'None'), {
    message: '[memorymanager] configured policy "None" differs from state checkpoint policy "static"',
  });
});

for (const [settings, message] of [
  [
    {reservedMemory: [{numaNode: 0, limits: {memory: '1000Mi'}}]},
    'the total amount "1000Mi" of type "memory" is not equal to the value "1Gi" determined by Node Allocatable feature',
  ],
  [
    {reservedMemory: [{numaNode: 2, limits: {memory: '1Gi'}}]},
    'the reserved memory configuration references a NUMA node 2 that does not exist on this machine',
  ],
  [
    {reservedMemory: [...static_.reservedMemory, {numaNode: 0, limits: {'hugepages-2Mi': '2Mi'}}]},
    'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0" determined by Node Allocatable feature',
  ],
  [{reservedMemory: [], systemReserved: {}}, '[memorymanager] you should specify the system reserved memory'],
  [{memoryManagerPolicy: 'Other'}, 'unknown policy: "Other"'],
] as const)
  test(`an agent with ${JSON.stringify(settings)} does not start`, async t => {
    using host = folderHost();
    await t.throwsAsync(opened(host, {settings: settings as ManagersOptions['settings'] & object}), {message});
  });

test('memory of Guaranteed pods is on one NUMA node if it fits there', async t => {
  using host = folderHost();
  const managers = await opened(host);
  const [one, two, three] = ['one', 'two', 'three'].map(uid => aPod(uid, ['2Gi']));
  const burstable = {...aPod('burstable', ['1Gi']), spec: {containers: [{name: 'app0', resources: {requests: {memory: '1Gi'}}}]}} as Pod;

  t.is(managers.reserve(one!, []), undefined);
  t.is(managers.reserve(two!, [one!]), undefined);
  t.is(managers.reserve(burstable, [one!, two!]), undefined);
  const refusal = await managers.reserve(three!, [one!, two!]);

  t.deepEqual(
    [one!, two!, burstable].map(pod => nodesOf(managers, pod)),
    ['0', '1', ''],
  );
  t.deepEqual(managerRejection(refusal!), {
    reason: 'UnexpectedAdmissionError',
    message:
      'Allocate failed due to [memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available, which is unexpected',
  });
});

test('memory that fits on no single node is on several, which no pod uses alone then', async t => {
  using host = folderHost();
  const managers = await opened(host);
  const [wide, narrow] = [aPod('wide', ['5Gi']), aPod('narrow', ['1Gi'])];

  t.is(managers.reserve(wide, []), undefined);
  t.is(managers.reserve(narrow, [wide]), undefined);

  t.deepEqual([nodesOf(managers, wide), nodesOf(managers, narrow)], ['0,1', '0,1']);
  const {machine} = await stateOf(host, managers);
  t.deepEqual(
    [...machine.values()].map(({assignments, group}) => [assignments, group]),
    [
      [2, [0, 1]],
      [2, [0, 1]],
    ],
  );
  t.is(managers.reserve(aPod('next', ['1Gi']), []), undefined);
  t.is(nodesOf(managers, aPod('next', ['1Gi'])), '0');
  await savedBy(managers);
});

test('huge pages are allocated together with memory', async t => {
  using host = folderHost();
  const managers = await opened(host);
  const pod = aPod('pages', ['1Gi'], [], {'hugepages-2Mi': '6Mi'});

  t.is(managers.reserve(pod, []), undefined);
  t.is(managers.reserve(aPod('more', ['1Gi'], [], {'hugepages-2Mi': '6Mi'}), [pod]), undefined);

  const {machine} = await stateOf(host, managers);
  t.deepEqual(
    [...machine.values()].map(({tables}) => tables.get('hugepages-2Mi')?.free),
    [2 ** 21, 2 ** 21],
  );
});

test('an agent that starts again keeps the memory, and refuses other reservations', async t => {
  using host = folderHost();
  const pod = aPod('one', ['2Gi']);
  const before = await opened(host);
  before.reserve(pod, []);
  await savedBy(before);

  const after = await opened(host);

  t.is(nodesOf(after, pod), '0');
  t.is(after.reserve(pod, []), undefined);
  await savedBy(after);
  const other = {systemReserved: {memory: '512Mi'}, reservedMemory: [{numaNode: 0, limits: {memory: '512Mi'}}]};
  await t.throwsAsync(opened(host, {settings: other as ManagersOptions['settings'] & object}), {
    message: '[memorymanager] the expected machine state is different from the real one',
  });
  await t.throwsAsync(opened(host, {settings: {memoryManagerPolicy: 'None'}}), {
    message: `could not restore state from checkpoint: [memorymanager] configured policy "None" differs from state checkpoint policy "Static", please drain this node and delete the memory manager checkpoint file "${join(host.folders.root, 'memory_manager_state')}" before restarting Platlet`,
  });
});

test('containers use the memory of init containers again, which is released when these have ended', async t => {
  using host = folderHost();
  const managers = await opened(host);
  const pod = aPod('one', ['1Gi'], ['3Gi']);
  const takenOf = async (): Promise<number> => (await stateOf(host, managers)).machine.get(0)!.tables.get('memory')!.reserved / gib;

  t.is(managers.reserve(pod, []), undefined);
  t.is(nodesOf(managers, pod), '0 0');
  t.is(await takenOf(), 3);
  await managers.creating(pod, pod.spec!.containers[0]!);

  t.is(await takenOf(), 1);
});

test('CPUs and memory are aligned on the same NUMA node', async t => {
  using host = folderHost();
  const settings = {
    cpuManagerPolicy: 'static',
    topologyManagerPolicy: 'single-numa-node',
    systemReserved: {memory: '1Gi', cpu: '1'},
  } as ManagersOptions['settings'] & object;
  const managers = await opened(host, {settings});
  const pod = aPod('both', ['1Gi'], [], {cpu: '2'});

  t.is(managers.reserve(pod, []), undefined);

  t.like(managers.assignedTo(pod, pod.spec!.containers[0]!), {cpus: '2-3', memoryNodes: '1'});
  t.is((await managers.reserve(aPod('wide', ['1Gi'], [], {cpu: '2'}), [pod]))?.is, 'topology');
});
