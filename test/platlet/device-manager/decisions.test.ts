import test from 'ava';
import {messageOf} from '#src/base/message.js';
import {formatDeviceCheckpoint, parseDeviceCheckpoint} from '#src/platlet/device-manager/checkpoint.js';
import {chooseDevices, devicesByAffinity, type DeviceRequest} from '#src/platlet/pod/devices/choice.js';
import {containerOptions} from '#src/platlet/device-manager/container-options.js';
import {isAligned, type Devices} from '#src/platlet/pod/devices/devices.js';
import {deviceHints} from '#src/platlet/device-manager/hints.js';
import {containerAllocation, type ContainerAllocation} from '#src/platlet/device-manager/messages.js';
import type {Draft} from '#src/platlet/rpc/codec.js';
import {maskOf, nodesOf} from '#src/platlet/topology-manager/mask.js';

/** Devices by id with their NUMA nodes: `a:0 b:0,1 c`. */
const devicesOf = (text: string): Devices =>
  new Map(
    text.split(' ').map(each => {
      const [id = '', nodes] = each.split(':');
      return [id, {health: 'Healthy', nodes: nodes?.split(',').map(Number)}];
    }),
  );

const set = (text: string): ReadonlySet<string> => new Set(text.split(' ').filter(id => id !== ''));
const textOf = (ids: Iterable<string>): string => [...ids].sort().join(' ');

test('devices are sorted by the preferred NUMA nodes', t => {
  const devices = devicesOf('dev1:1 dev2:1,2 dev3:2 dev4:2 dev5');
  const sorted = (available: string): string[] =>
    Object.values(devicesByAffinity({devices, available: set(available), affinity: maskOf([2])})).map(textOf);

  t.deepEqual(sorted('dev1 dev2'), ['dev2', 'dev1', '']);
  t.deepEqual(sorted('dev1 dev2 dev3 dev4 dev5'), ['dev2 dev3 dev4', 'dev1', 'dev5']);
});

interface ChoiceCase {
  readonly title: string;
  readonly devices: string;
  readonly count: number;
  readonly available?: string;
  readonly reusable?: string;
  readonly affinity?: readonly number[];
  /** What the plugin would take. */
  readonly preferred?: string;
  readonly asked?: string;
  readonly taken: string;
}

const choices: readonly ChoiceCase[] = [
  {title: 'Single Request, no alignment', devices: 'Dev1 Dev2', count: 1, asked: '1 of Dev1 Dev2 with ', taken: 'Dev1'},
  {title: 'Single Request, single device NUMA alignment', devices: 'Dev1:1 Dev2:0', count: 1, affinity: [0], taken: 'Dev2'},
  {title: 'Request for 2, socket 0 full', devices: 'Dev1:0 Dev2:0 Dev3:1', count: 2, affinity: [0], taken: 'Dev1 Dev2'},
  {
    title: 'Request for 3, unsatisfied on socket 0',
    devices: 'Dev1:0 Dev2:1 Dev3:0 Dev4:1',
    count: 3,
    affinity: [0],
    asked: '3 of Dev1 Dev2 Dev3 Dev4 with Dev1 Dev3',
    preferred: 'Dev4',
    taken: 'Dev1 Dev3 Dev4',
  },
  {
    title: 'more aligned devices than needed: the plugin chooses among them',
    devices: 'Dev1:0 Dev2:0 Dev3:0 Dev4:1',
    count: 2,
    affinity: [0],
    asked: '2 of Dev1 Dev2 Dev3 with ',
    preferred: 'Dev4 Dev3 Dev2 Dev1',
    taken: 'Dev2 Dev3',
  },
  {title: 'devices of init containers first', devices: 'Dev1 Dev2 Dev3', available: 'Dev1 Dev2', reusable: 'Dev3', count: 1, taken: 'Dev3'},
  {
    title: 'devices of init containers must be included',
    devices: 'Dev1 Dev2 Dev3',
    available: 'Dev1 Dev2',
    reusable: 'Dev3',
    count: 2,
    asked: '2 of Dev1 Dev2 Dev3 with Dev3',
    preferred: 'Dev3 Dev2',
    taken: 'Dev2 Dev3',
  },
  {
    title: 'too few',
    devices: 'Dev1',
    count: 2,
    taken: '! requested number of devices unavailable for a/b. Requested: 2, Available: 1',
  },
];

for (const {title, devices, count, available, reusable = '', affinity, preferred = '', asked = '', taken} of choices)
  test(`devices are chosen: ${title}`, t => {
    const all = devicesOf(devices);
    const request: DeviceRequest = {
      resource: 'a/b',
      count,
      devices: all,
      available: set(available ?? [...all.keys()].join(' ')),
      reusable: set(reusable),
      affinity: affinity && maskOf(affinity),
    };
    let question = '';
    let found: string;
    try {
      const choice = chooseDevices(request);
      let step = choice.next();
      while (!step.done) {
        question = `${step.value.count} of ${textOf(step.value.available)} with ${textOf(step.value.mustInclude)}`;
        step = choice.next(set(preferred));
      }
      found = textOf(step.value);
    } catch (error) {
      found = `! ${messageOf(error)}`;
    }

    t.is(found, taken);
    t.is(question, asked);
  });

/** Hints: the nodes of each, with `*` for a preferred one. */
const hints: readonly (readonly [title: string, devices: string, count: number, used: string, reusable: string, expected: string])[] = [
  ['Single Request, only one with alignment', 'Dev1 Dev2:1', 1, '', '', '1* 01'],
  ['Single Request, one device per socket', 'Dev1:0 Dev2:1', 1, '', '', '0* 1* 01'],
  ['Request for 2, one device per socket', 'Dev1:0 Dev2:1', 2, '', '', '01*'],
  ['Request for 2, 2 devices per socket', 'Dev1:0 Dev2:1 Dev3:0 Dev4:1', 2, '', '', '0* 1* 01'],
  ['Request for 2, optimal on 1 NUMA node, forced cross-NUMA', 'Dev1:0 Dev2:1 Dev3:0 Dev4:1', 2, 'Dev1 Dev2', '', '01'],
  ['Single device type, more requested than available', 'Dev1:0 Dev2:0 Dev3:1', 6, '', '', ''],
  ['reusable devices have to be on the nodes', 'Dev1:0 Dev2:1 Dev3:0 Dev4:1', 2, 'Dev1', 'Dev1', '0* 01'],
];

for (const [title, text, count, used, reusable, expected] of hints)
  test(`devices have hints: ${title}`, t => {
    const devices = devicesOf(text);
    const available = new Set([...devices.keys()].filter(id => !set(used).has(id)));

    t.is(
      deviceHints([0, 1], {devices, available, reusable: set(reusable), count})
        .map(({affinity, isPreferred}) => `${nodesOf(affinity!).join('')}${isPreferred ? '*' : ''}`)
        .join(' '),
      expected,
    );
  });

test('devices without NUMA nodes are not aligned', t => {
  t.false(isAligned(new Map([['Dev1', {health: 'Healthy', nodes: []}]])));
  t.false(isAligned(devicesOf('Dev1')));
  t.true(isAligned(devicesOf('Dev1 Dev2:0')));
});

const allocation = (draft: Draft<ContainerAllocation>): ContainerAllocation =>
  containerAllocation.decode(containerAllocation.encode(draft));

test('a container gets what all its devices need, and of two settings of a name the first', t => {
  const {environment, ...rest} = containerOptions([
    allocation({
      envs: {A: '1', B: '2'},
      mounts: [{containerPath: '/lib', hostPath: '/opt/lib', readOnly: true}],
      devices: [{containerPath: '/dev/a', hostPath: '/dev/x', permissions: 'rw'}],
      annotations: {k: 'v'},
      cdiDevices: [{name: 'v/c=1'}, {name: 'v/c=2'}],
    }),
    allocation({
      envs: {B: '3', C: '4'},
      mounts: [{containerPath: '/lib', hostPath: '/other'}],
      devices: [{containerPath: '/dev/b', hostPath: '/dev/y', permissions: 'r'}],
      annotations: {k: 'other', l: 'w'},
      cdiDevices: [{name: 'v/c=2'}],
    }),
  ]);

  t.deepEqual(Object.fromEntries(environment), {A: '1', B: '2', C: '4'});
  t.deepEqual(rest, {
    mounts: [{containerPath: '/lib', hostPath: '/opt/lib', readonly: true, propagation: 'private'}],
    devices: [
      {containerPath: '/dev/a', hostPath: '/dev/x', permissions: 'rw'},
      {containerPath: '/dev/b', hostPath: '/dev/y', permissions: 'r'},
    ],
    annotations: {k: 'v', l: 'w'},
    cdiDevices: ['v/c=1', 'v/c=2'],
  });
});

test('the checkpoint is the one that the original writes, and a damaged one is refused', t => {
  const written =
    '{"Data":{"PodDeviceEntries":[{"PodUID":"uid","ContainerName":"c","ResourceName":"a/b","DeviceIDs":{"-1":["dev3"],"0":["dev1","dev2"]},"AllocResp":"CgYKAUESAUI="}],"RegisteredDevices":{"a/a":[],"a/b":["dev1","dev3"]}},"Checksum":4125679937}';
  const parsed = parseDeviceCheckpoint(written);

  t.deepEqual(JSON.parse(formatDeviceCheckpoint(parsed)), JSON.parse(written));
  t.like(parsed.entries[0], {uid: 'uid', container: 'c', resource: 'a/b'});
  t.deepEqual([...parsed.entries[0]!.devices.values()].flat().sort(), ['dev1', 'dev2', 'dev3']);
  t.deepEqual({...parsed.entries[0]!.response.envs}, {A: 'B'});
  t.is(
    formatDeviceCheckpoint({entries: [], registered: new Map()}),
    '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}',
  );
  t.throws(() => parseDeviceCheckpoint(written.replace('dev2', 'dev4')), {message: 'checkpoint is corrupted'});
});
