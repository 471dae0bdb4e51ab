import test from 'ava';
import {join} from 'node:path';
import {naming} from '#src/api/naming.js';
import type {Container} from '#src/api/pod.js';
import {swapSettings} from '#src/platlet/resize/memory-settings.js';
import {memoryQos, swapPart} from '#src/platlet/inputs/memory.js';
import {containerResources, type ResourceSettings} from '#src/platlet/inputs/resources.js';
import {excludesSwapOn, warnOfSwap} from '#src/platlet/volumes/swap.js';
import {folderHost, put} from '#test/platlet/host.js';
import {aPod} from '#test/platlet/pod/objects.js';

const mebi = 2 ** 20;
const node: ResourceSettings = {enforcesCpuLimits: true, cpuPeriod: 100_000, memoryCapacity: 42 * mebi, pageSizes: [], killsGroups: true};

const container = (request?: string, limit?: string): Container => ({
  name: 'app',
  resources: {
    requests: {cpu: '1', ...(request ? {memory: request} : {})},
    limits: {cpu: '2', ...(limit ? {memory: limit} : {})},
  },
});

/** The settings of the swap of a machine with groups of a version. */
const swapOf = async (version: 1 | 2, swapBehavior: string, hasController = true) => {
  using host = folderHost();
  const root = join(host.root, 'group');
  if (hasController) await put(host, join(root, version === 1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max'));
  const hierarchy = {version, foldersOf: () => [root]} as const;
  const parts = {
    settings: {'memorySwap.swapBehavior': swapBehavior},
    naming: naming('plat'),
    host,
    identity: {machine: {swapBytes: 40 * mebi}},
  };
  return await swapSettings(parts as unknown as Parameters<typeof swapSettings>[0], hierarchy);
};

const limitsOf = async (version: 1 | 2, behavior: string, of: Container, spec: object = {}) => {
  const {unified, memorySwapLimitBytes} = containerResources(aPod({containers: [of], ...spec}), of, {
    ...node,
    swap: await swapOf(version, behavior),
  });
  return unified?.['memory.swap.max'] ?? memorySwapLimitBytes;
};

for (const [name, version, behavior, of, spec, want] of [
  ['cgroups v1, LimitedSwap, Burstable QoS', 1, 'LimitedSwap', container('10Mi', '20Mi'), {}, 20 * mebi],
  ['cgroups v1, LimitedSwap, Best-effort QoS', 1, 'LimitedSwap', {name: 'app'}, {}, undefined],
  ['cgroups v1, NoSwap, Burstable QoS', 1, 'NoSwap', container('10Mi', '20Mi'), {}, 20 * mebi],
  ['cgroups v2, LimitedSwap, Burstable QoS', 2, 'LimitedSwap', container('21Mi', '42Mi'), {}, String(20 * mebi)],
  ['cgroups v2, LimitedSwap, Best-effort QoS', 2, 'LimitedSwap', {name: 'app'}, {}, '0'],
  ['cgroups v2, LimitedSwap, Burstable QoS, memory request equals to limit', 2, 'LimitedSwap', container('10Mi', '10Mi'), {}, '0'],
  ['cgroups v2, LimitedSwap, Burstable QoS, no memory', 2, 'LimitedSwap', container(), {}, '0'],
  ['cgroups v2, LimitedSwap, critical pod', 2, 'LimitedSwap', container('10Mi', '20Mi'), {priority: 2_000_001_000}, '0'],
  ['cgroups v2, NoSwap, Burstable QoS', 2, 'NoSwap', container('10Mi', '20Mi'), {}, '0'],
  ['cgroups v2, empty swap behavior', 2, '', container('10Mi', '20Mi'), {}, '0'],
] as const)
  test(`a container has the swap that it may use: ${name}`, async t => {
    t.is(await limitsOf(version, behavior, of as Container, spec), want);
  });

test('swap is not limited where the kernel cannot do so', async t => {
  t.is(await swapOf(2, 'LimitedSwap', false), undefined);
  t.deepEqual(containerResources(aPod({containers: [container()]}), container(), node).unified, {'memory.oom.group': '1'});
});

test("a container's part of the swap is that which it requests of the memory", t => {
  t.is(swapPart(10, 40, 20), 5);
  t.is(swapPart(41, 40, 20), 0);
  t.is(swapPart(1, 0, 20), 0);
});

for (const [name, of, factor, want] of [
  ['MemoryRequestHasMemoryLimit', container('128Mi', '256Mi'), 0.9, {min: 128 * mebi, high: Math.floor(128 * mebi + 128 * mebi * 0.9)}],
  ['MemoryRequestNoMemoryLimit', container('128Mi'), 0.9, {min: 128 * mebi, high: 128 * mebi + (2 ** 30 - 128 * mebi) * 0.9}],
  ['MemoryLimitNoMemoryRequest', container(undefined, '256Mi'), 0.5, {high: 128 * mebi}],
  ['MemoryRequestEqualLimit', container('256Mi', '256Mi'), 0.9, {min: 256 * mebi}],
] as const)
  test(`memory is protected and throttled: ${name}`, t => {
    const {min, high} = want as {min?: number; high?: number};
    t.deepEqual(memoryQos(of, {throttlingFactor: factor, allocatable: () => 2 ** 30}), {
      ...(min === undefined ? {} : {'memory.min': String(min)}),
      ...(high === undefined ? {} : {'memory.high': String(Math.floor(high / 4096) * 4096)}),
    });
  });

test('volumes in memory that may be swapped are an event', t => {
  const events: string[] = [];
  const recorder = {normal() {}, warning: (_: unknown, reason: string) => void events.push(reason)};
  const of = {kind: 'Node', metadata: {name: 'node'}};
  const machine = (kernelVersion: string, swapBytes: number, isInUserNamespace = false) => ({kernelVersion, swapBytes, isInUserNamespace});
  warnOfSwap(machine('6.1.0-4-cloud-amd64', 1), recorder, of);
  warnOfSwap(machine('6.1.0', 0), recorder, of);
  warnOfSwap(machine('6.18.1', 1), recorder, of);
  t.deepEqual(events, ['PossibleMemoryBackedVolumesOnDisk']);
  t.true(excludesSwapOn(machine('6.18.1', 1)));
  t.false(excludesSwapOn(machine('6.1.0', 1)));
  // The kernel lets no one turn swap off for a mount of a user namespace.
  warnOfSwap(machine('6.18.1', 1, true), recorder, of);
  t.is(events.length, 2);
  t.false(excludesSwapOn(machine('6.18.1', 1, true)));
});
