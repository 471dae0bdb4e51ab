import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {GateName} from '#src/options/gate-table.js';
import {seededRandom} from '#src/base/random.js';
import {volumeLabels} from '#src/platlet/volumes/volume-labels.js';
import type {ContextMount, VolumeRequest} from '#src/platlet/volumes/plugin.js';
import {selinuxHost} from '#test/platlet/selinux/policy.js';

const options = {user: 'system_u', role: 'object_r', type: 'container_t', level: 's0:c1,c2'};
const conflicting = {...options, level: 's0:c98,c99'};
const label = 'system_u:object_r:container_file_t:s0:c1,c2';

const forOnePod = ['SELinuxMountReadWriteOncePod'] as const;
const changePolicy = [...forOnePod, 'SELinuxChangePolicy'] as const;
const all = [...changePolicy, 'SELinuxMount'] as const;

type Policy = 'Recursive' | 'MountOption' | undefined;
type Options = Partial<typeof options> | undefined;

interface Use {
  readonly options?: Options;
  readonly policy?: Policy;
  /** What the second container of the pod has. */
  readonly second?: Options;
}

const mount: ContextMount = {uniqueName: 'basic/basicPV', plugin: 'basic'};
const plugin = {contextMount: () => Promise.resolve(mount)};

/** The labels of a node, with its metrics. */
const aNode = (gates: readonly GateName[], ...host: Parameters<typeof selinuxHost>) => {
  const meter = new MetricsRegistry();
  const labels = volumeLabels(gate => gates.includes(gate), {host: selinuxHost(...host), random: seededRandom(1), meter});
  return {
    labels,
    count: (name: string, given: Record<string, string>) => meter.value(`volume_manager_selinux_${name}_total`, given),
    meter,
  };
};

const requestOf = (uid: string, mode: string | undefined, {options: seLinuxOptions, policy, second}: Use): VolumeRequest => {
  const container = {name: 'c', image: 'c', volumeMounts: [{name: 'volume-name', mountPath: '/v'}]};
  const pod: Pod = {
    metadata: {uid},
    spec: {
      containers: [container, ...(second ? [{...container, securityContext: {seLinuxOptions: second}}] : [])],
      securityContext: {...(seLinuxOptions ? {seLinuxOptions} : {}), ...(policy ? {seLinuxChangePolicy: policy} : {})},
    },
  };
  const persistent = mode ? {persistent: {metadata: {name: 'basicPV'}, spec: {accessModes: [mode]}}} : {};
  return {pod, name: 'volume-name', volume: {name: 'volume-name'}, isReadonly: false, giveToGroup: async () => {}, ...persistent};
};

// Named after Test_AddPodToVolume_SELinuxSinglePod of the original.
for (const [name, gates, mode, use, expected] of [
  ['RWOP: ReadWriteOncePod with plugin that supports SELinux mount', forOnePod, 'ReadWriteOncePod', {options}, label],
  ['RWOP: ReadWriteOncePod incomplete SELinuxOptions', forOnePod, 'ReadWriteOncePod', {options: {level: 's0:c1,c2'}}, label],
  ['RWOP: ReadWriteOncePod no SELinuxOptions', forOnePod, 'ReadWriteOncePod', {}, ''],
  ['RWOP: ReadWriteMany with plugin that supports SELinux mount', forOnePod, 'ReadWriteMany', {options}, ''],
  ['RWOP+ChangePolicy: ReadWriteMany with the default policy', changePolicy, 'ReadWriteMany', {options}, ''],
  ['RWOP+ChangePolicy: ReadWriteMany with Recursive policy', changePolicy, 'ReadWriteMany', {options, policy: 'Recursive'}, ''],
  ['RWOP+ChangePolicy: ReadWriteMany with MountOption policy', changePolicy, 'ReadWriteMany', {options, policy: 'MountOption'}, ''],
  ['RWOP+ChangePolicy: ReadWriteOncePod with Recursive policy', changePolicy, 'ReadWriteOncePod', {options, policy: 'Recursive'}, ''],
  [
    'RWOP+ChangePolicy: ReadWriteOncePod with MountOption policy',
    changePolicy,
    'ReadWriteOncePod',
    {options, policy: 'MountOption'},
    label,
  ],
  ['RWOP+ChangePolicy+Mount: ReadWriteMany with the default policy', all, 'ReadWriteMany', {options}, label],
  ['RWOP+ChangePolicy+Mount: ReadWriteMany with Recursive policy', all, 'ReadWriteMany', {options, policy: 'Recursive'}, ''],
  ['RWOP+ChangePolicy+Mount: ReadWriteMany with MountOption policy', all, 'ReadWriteMany', {options, policy: 'MountOption'}, label],
  ['RWOP+ChangePolicy+Mount: ReadWriteOncePod with Recursive policy', all, 'ReadWriteOncePod', {options, policy: 'Recursive'}, ''],
  ['RWOP+ChangePolicy+Mount: ReadWriteOncePod with MountOption policy', all, 'ReadWriteOncePod', {options, policy: 'MountOption'}, label],
] as const)
  test(`one pod: ${name}`, async t => {
    t.is(await aNode(gates).labels.use(requestOf('1', mode, use), plugin), expected);
  });

test('no volume has a label without the gate, without SELinux, and of a type that cannot be mounted with one', async t => {
  const request = requestOf('1', 'ReadWriteOncePod', {options});
  t.is(await aNode([]).labels.use(request, plugin), undefined);
  t.is(await aNode(all, undefined, false).labels.use(request, plugin), '');
  t.is(await aNode(all).labels.use(request, {contextMount: () => Promise.resolve(undefined)}), '');
  t.is(await aNode(all).labels.use(request, {}), '');
});

const recursive = {options, policy: 'Recursive'} as const;
const byOption = {options, policy: 'MountOption'} as const;

// Named after Test_AddPodToVolume_SELinux_MultiplePods of the original.
for (const [name, gates, mode, first, second, expected, isError] of [
  ['RWOP: ReadWriteOncePod with the same SELinux options', forOnePod, 'RWOP', {options}, {options}, label, false],
  ['RWOP: ReadWriteOncePod with conflicting SELinux options', forOnePod, 'RWOP', {options}, {options: conflicting}, label, true],
  ['RWOP: ReadWriteMany with the same SELinux options', forOnePod, 'RWX', {options}, {options}, '', false],
  ['RWOP+ChangePolicy: ReadWriteOncePod with the same SELinux options', changePolicy, 'RWOP', {options}, {options}, label, false],
  ['RWOP+ChangePolicy: RWOP, same options and same Recursive policy', changePolicy, 'RWOP', recursive, recursive, '', false],
  ['RWOP+ChangePolicy: RWOP, same options and conflicting policies', changePolicy, 'RWOP', recursive, {options}, '', true],
  ['RWOP+ChangePolicy: RWX, same options with Recursive policy', changePolicy, 'RWX', recursive, recursive, '', false],
  ['RWOP+ChangePolicy: RWX, same options with MountOption policy', changePolicy, 'RWX', byOption, byOption, '', false],
  ['RWOP+ChangePolicy: RWX, same options with conflicting policies', changePolicy, 'RWX', byOption, recursive, '', false],
  [
    'RWOP+ChangePolicy: RWX, conflicting options and Recursive policy',
    changePolicy,
    'RWX',
    recursive,
    {...recursive, options: conflicting},
    '',
    false,
  ],
  [
    'RWOP+ChangePolicy: RWX, conflicting options and MountOption policy',
    changePolicy,
    'RWX',
    byOption,
    {...byOption, options: conflicting},
    '',
    false,
  ],
  ['RWOP+ChangePolicy+Mount: ReadWriteOncePod with the same SELinux options', all, 'RWOP', {options}, {options}, label, false],
  ['RWOP+ChangePolicy+Mount: RWOP, same options and same Recursive policy', all, 'RWOP', recursive, recursive, '', false],
  ['RWOP+ChangePolicy+Mount: RWOP, same options and conflicting policies', all, 'RWOP', recursive, {options}, '', true],
  ['RWOP+ChangePolicy+Mount: RWX, same options with Recursive policy', all, 'RWX', recursive, recursive, '', false],
  ['RWOP+ChangePolicy+Mount: RWX, same options with MountOption policy', all, 'RWX', byOption, byOption, label, false],
  ['RWOP+ChangePolicy+Mount: RWX, same options with default and MountOption policy', all, 'RWX', {options}, byOption, label, false],
  ['RWOP+ChangePolicy+Mount: RWX, same options with conflicting policies', all, 'RWX', byOption, recursive, label, true],
  [
    'RWOP+ChangePolicy+Mount: RWX, conflicting options and Recursive policy',
    all,
    'RWX',
    recursive,
    {...recursive, options: conflicting},
    '',
    false,
  ],
  [
    'RWOP+ChangePolicy+Mount: RWX, conflicting options and MountOption policy',
    all,
    'RWX',
    byOption,
    {...byOption, options: conflicting},
    label,
    true,
  ],
] as const)
  test(`two pods: ${name}`, async t => {
    const {labels} = aNode(gates);
    const accessMode = mode === 'RWOP' ? 'ReadWriteOncePod' : 'ReadWriteMany';
    const [one, two] = [requestOf('1', accessMode, first), requestOf('2', accessMode, second)];
    t.is(await labels.use(one, plugin), expected);
    if (isError) await t.throwsAsync(labels.use(two, plugin), {message: /^conflicting SELinux labels of volume basicPV: /});
    else t.is(await labels.use(two, plugin), expected);
    // The first pod still has it.
    t.is(await labels.use(one, plugin), expected);
    labels.leave('2');
    labels.leave('1');
    await t.notThrowsAsync(labels.use(two, plugin));
  });

test('conflicts of labels between pods are counted, as errors only where volumes are mounted with labels', async t => {
  for (const [mode, shown, isError] of [
    ['ReadWriteOncePod', 'RWOP', true],
    ['ReadWriteOnce', 'RWO', false],
  ] as const) {
    const {labels, count} = aNode(forOnePod);
    const kind = {volume_plugin: 'basic', access_mode: shown};
    await labels.use(requestOf('1', mode, {options}), plugin);
    await labels.use(requestOf('1', mode, {options}), plugin);
    t.is(count('volumes_admitted', kind), 1);
    const second = labels.use(requestOf('2', mode, {options: conflicting}), plugin);
    if (isError)
      await t.throwsAsync(second, {
        message: `conflicting SELinux labels of volume basicPV: "${label}" and "${label.replace('c1,c2', 'c98,c99')}"`,
      });
    else t.is(await second, '');
    t.is(count('volume_context_mismatch_errors', kind), isError ? 1 : undefined);
    t.is(count('volume_context_mismatch_warnings', kind), isError ? undefined : 1);
  }
});

test('containers of a pod that do not agree are counted for volumes of all types, and refused where labels are mounted', async t => {
  const use = {options, second: conflicting};
  const {labels, count} = aNode(forOnePod);
  await t.throwsAsync(labels.use(requestOf('1', 'ReadWriteOncePod', use), plugin), {
    message: `multiple SELinux labels found: ${label},${label.replace('c1,c2', 'c98,c99')}`,
  });
  t.is(await labels.use(requestOf('1', 'ReadWriteMany', use), plugin), '');
  t.is(await labels.use(requestOf('1', undefined, use), {}), '');
  t.is(count('pod_context_mismatch_errors', {access_mode: 'RWOP'}), 1);
  t.is(count('pod_context_mismatch_warnings', {access_mode: 'RWX'}), 1);
  t.is(count('pod_context_mismatch_warnings', {access_mode: 'inline'}), 1);
  // What the containers do not agree on conflicts with nothing.
  await labels.use(requestOf('2', 'ReadWriteMany', use), plugin);
  t.is(count('volume_context_mismatch_warnings', {volume_plugin: 'basic', access_mode: 'RWX'}), undefined);
});

test('a label that the policy does not give is counted, and refused where labels are mounted', async t => {
  const {labels, count} = aNode(forOnePod, {'/usr/share/containers/selinux/contexts': 'process = "x"\nfile = "y"\n'});
  await t.throwsAsync(labels.use(requestOf('1', 'ReadWriteOncePod', {options}), plugin), {message: /invalid Label$/});
  t.is(await labels.use(requestOf('1', 'ReadWriteMany', {options}), plugin), '');
  t.is(count('container_errors', {access_mode: 'RWOP'}), 1);
  t.is(count('container_warnings', {access_mode: 'RWX'}), 1);
});

test('the metrics of labels are there with their gate', async t => {
  const shown = async (gates: readonly GateName[]): Promise<string[]> => {
    const {body} = await aNode(gates).meter.exposition();
    return [...body.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name!).sort();
  };
  t.deepEqual(await shown([]), []);
  t.deepEqual(await shown(forOnePod), [
    'volume_manager_selinux_container_errors_total',
    'volume_manager_selinux_container_warnings_total',
    'volume_manager_selinux_pod_context_mismatch_errors_total',
    'volume_manager_selinux_pod_context_mismatch_warnings_total',
    'volume_manager_selinux_volume_context_mismatch_errors_total',
    'volume_manager_selinux_volume_context_mismatch_warnings_total',
    'volume_manager_selinux_volumes_admitted_total',
  ]);
});
