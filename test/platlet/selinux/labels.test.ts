import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {seededRandom} from '#src/base/random.js';
import {fileLabelOf, parseSettings, randomLevel} from '#src/platlet/selinux/file-labels.js';
import {accessModeOf, mountLabelOf, optionsOfUsers, supportsLabels, withLabel} from '#src/platlet/selinux/mount-label.js';
import {aTranslator, fedora} from './policy.js';

const policy = {process: 'system_u:system_r:container_t:s0', file: 'system_u:object_r:container_file_t:s0'};
const other = (): string => 's0:c8,c9';

test('the label of files has user and level of the options, and role and type of the policy', t => {
  for (const [options, labels, expected] of [
    [{level: 's0:c1,c2'}, policy, 'system_u:object_r:container_file_t:s0:c1,c2'],
    [{user: 'staff_u', level: 's0:c1,c2'}, policy, 'staff_u:object_r:container_file_t:s0:c1,c2'],
    [{user: 'u', role: 'r', type: 'container_t', level: 's0'}, policy, 'u:object_r:container_file_t:s0'],
    [{user: '', level: ''}, policy, 'system_u:object_r:container_file_t:s0:c8,c9'],
    [{user: 'u'}, {...policy, process: 'system_u:system_r:container_t'}, 'u:object_r:container_file_t:s0'],
    [{user: 'u'}, {process: 'a:b:c', file: 'a:b:d'}, 'u:b:d'],
    [{level: 's0:c1'}, {process: '', file: 'a:b:c'}, 'a:b:c'],
    [{level: 's0:c1'}, {process: 'a:b:c', file: ''}, ''],
  ] as const)
    t.is(fileLabelOf(options, labels, other), expected, JSON.stringify([options, labels]));
  t.throws(() => fileLabelOf({level: 's0'}, {...policy, process: 'container_t'}, other), {message: 'invalid Label'});
});

test('settings of a policy are read without comments, spaces and quotes', t => {
  t.deepEqual(
    [...parseSettings('# a = 1\n; b = 2\nSELINUXTYPE=targeted\n c = "x:y=z" \nnothing\n')],
    [
      ['SELINUXTYPE', 'targeted'],
      ['c', 'x:y=z'],
    ],
  );
  t.is(parseSettings(fedora).get('file'), policy.file);
});

test('a level that is not given has two different categories in their order', t => {
  const random = seededRandom(1);
  const levels = Array.from({length: 2000}, () => randomLevel(random));
  for (const level of levels) {
    const [, one, two] = /^s0:c(\d+),c(\d+)$/.exec(level)!.map(Number);
    t.true(one! < two! && two! < 1024, level);
  }
  t.true(new Set(levels).size > 1900);
});

test('the labels of containers come from the file of all container tools, or else from the policy of the machine', async t => {
  const options = {level: 's0:c1,c2'};
  const policies = {
    '/etc/selinux/config': 'SELINUX=enforcing\nSELINUXTYPE=strict\n',
    '/etc/selinux/strict/contexts/lxc_contexts': 'process = "u:r:p:s0"\nfile = "u:r:f:s0"\n',
  };
  t.is(await aTranslator().fileLabel(options), 'system_u:object_r:container_file_t:s0:c1,c2');
  t.is(await aTranslator(policies).fileLabel(options), 'u:r:f:s0:c1,c2');
  t.is(await aTranslator({}).fileLabel(options), '');
  t.is(await aTranslator().fileLabel({}), '');
  t.is(await aTranslator().fileLabel({level: ''}), '');
  t.is(await aTranslator(undefined, false).fileLabel(options), '');
  const broken = aTranslator({'/usr/share/containers/selinux/contexts': 'process = "x"\nfile = "y"\n'});
  await t.throwsAsync(broken.fileLabel(options), {
    message: 'failed to construct SELinux label from context "&SELinuxOptions{User:,Role:,Type:,Level:s0:c1,c2,}": invalid Label',
  });
});

// Named after TestGetMountSELinuxLabel of the original.
test('the label that a volume is mounted with depends on its plugin and on the policy of the pod', t => {
  const [one, two, three] = ['u:r:t:s0:c123,c456', 'u:r:t:s0:c234,c567', 'u:r:t:s0:c345,c678'];
  const several = 'multiple SELinux labels found';
  for (const [name, {hasGate = false, isSupported = true, policy: seLinuxChangePolicy, labels}, expected] of [
    ['no label, no changePolicy', {labels: []}, ''],
    ['no label, Recursive change policy', {policy: 'Recursive', labels: []}, ''],
    ['one label, Recursive change policy, no feature gate', {policy: 'Recursive', labels: [one]}, one],
    ['one label, Recursive change policy, SELinuxChangePolicy', {hasGate: true, policy: 'Recursive', labels: [one]}, ''],
    ['one label, no policy', {labels: [one]}, one],
    ['one label, MountOption policy', {policy: 'MountOption', labels: [one]}, one],
    ['one label, no policy, RWX, SELinuxChangePolicy', {hasGate: true, labels: [one]}, one],
    ['one label, MountOption policy, RWX, SELinuxChangePolicy', {hasGate: true, policy: 'MountOption', labels: [one]}, one],
    [
      'one label, Recursive change policy, SELinuxChangePolicy, no plugin support',
      {hasGate: true, isSupported: false, policy: 'Recursive', labels: [one]},
      '',
    ],
    ['one label, no policy, no plugin support', {isSupported: false, labels: [one]}, ''],
    ['one label, MountOption policy, no plugin support', {isSupported: false, policy: 'MountOption', labels: [one]}, ''],
    ['multiple same labels, no policy', {labels: [one, one, one, one]}, one],
    ['multiple different labels, no policy', {labels: [one, two, three]}, several],
    ['multiple different labels, Recursive policy', {hasGate: true, policy: 'Recursive', labels: [one, two, three]}, several],
  ] as const) {
    const pod = {spec: {containers: [], securityContext: seLinuxChangePolicy ? {seLinuxChangePolicy} : {}}};
    const act = (): string => mountLabelOf({hasChangePolicy: hasGate}, pod, {labels, isSupported});
    if (expected === several) t.throws(act, {message: `${several}: ${labels.join(',')}`}, name);
    else t.is(act(), expected, name);
  }
});

test('volumes are mounted with labels by their access modes', t => {
  const gates = {mountsForOnePod: true, hasChangePolicy: true, mountsAll: false};
  const spec = (...accessModes: string[]) => ({spec: {accessModes}});
  const supported = (given: typeof gates, ...modes: string[]) => supportsLabels(given, spec(...modes));
  t.true(supported(gates, 'ReadWriteOncePod'));
  t.false(supported(gates, 'ReadWriteOncePod', 'ReadWriteOnce'));
  t.false(supported(gates, 'ReadWriteMany'));
  t.true(supported({...gates, mountsAll: true}, 'ReadWriteMany'));
  t.false(supported({...gates, mountsForOnePod: false, mountsAll: true}, 'ReadWriteOncePod'));
  t.false(supportsLabels({...gates, mountsAll: true}, undefined));
  const shown = [['ReadWriteOncePod'], ['ReadWriteOnce', 'ReadOnlyMany'], ['ReadOnlyMany', 'ReadWriteMany'], ['ReadWriteOnce'], []];
  t.deepEqual(
    shown.map(modes => accessModeOf(spec(...modes))),
    ['RWOP', 'ROX', 'RWX', 'RWO', ''],
  );
  t.is(accessModeOf(undefined), 'inline');
});

test('the containers that mount a volume have the options of the pod unless they have their own', t => {
  const uses = [{name: 'v', mountPath: '/v'}];
  const [own, ofPod] = [{level: 'own'}, {level: 'pod'}];
  const container = (securityContext?: object) => ({
    name: 'c',
    image: 'c',
    volumeMounts: uses,
    ...(securityContext ? {securityContext} : {}),
  });
  const podOf = (securityContext?: object): Pod => ({
    spec: {
      initContainers: [container({seLinuxOptions: own})],
      containers: [container(), container({runAsUser: 1}), {...container({seLinuxOptions: own}), volumeMounts: []}],
      ephemeralContainers: [container()],
      ...(securityContext ? {securityContext} : {}),
    },
  });
  t.deepEqual(optionsOfUsers(podOf({seLinuxOptions: ofPod}), 'v'), [own, ofPod, ofPod, ofPod]);
  t.deepEqual(optionsOfUsers(podOf(), 'v'), [own]);
  t.deepEqual(optionsOfUsers(podOf(), 'w'), []);
});

test('the mount option of a label is quoted and comes last', t => {
  t.deepEqual(withLabel(['noatime'], 'a:b:c:s0:c1,c2'), ['noatime', 'context="a:b:c:s0:c1,c2"']);
  t.deepEqual(withLabel(['noatime'], ''), ['noatime']);
  t.deepEqual(withLabel([]), []);
});
