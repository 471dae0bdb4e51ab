import test from 'ava';
import {formatCpuState, parseCpuState} from '#src/platlet/cpu-manager/checkpoint.js';
import {cpuPolicyOptions} from '#src/platlet/cpu-manager/options.js';
import {CpuReconciler} from '#src/platlet/cpu-manager/reconcile.js';
import {containerResources, sandboxResources} from '#src/platlet/inputs/resources.js';
import {managerRejection} from '#src/platlet/pod/admission/managers.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {noLog} from '#src/base/log.js';
import {folderHost, put, textOf} from '#test/platlet/host.js';
import {cpus} from '#test/platlet/topology/sysfs.js';
import {aGuaranteed, cpusOfPod, managersOf, savedBy, stateFile} from './managers.js';

const smt = {sockets: 1, coresPerNuma: 4, threads: 2} as const;

test('the state file has the format and the checksum of the original', t => {
  const empty = '{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":354655845}';
  t.is(
    formatCpuState('none', {shared: cpus('4-6'), assignments: new Map()}),
    '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}',
  );
  t.deepEqual(parseCpuState(empty, 'none'), {shared: cpus('4-6'), assignments: new Map()});

  const assignments = new Map([
    [
      'pod',
      new Map([
        ['container1', cpus('4-6')],
        ['container2', cpus('1-3')],
      ]),
    ],
  ]);
  const text =
    '{"policyName":"none","defaultCPUSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}';
  t.deepEqual(parseCpuState(text, 'none'), {shared: cpus('1-3'), assignments});
  t.deepEqual(parseCpuState(formatCpuState('static', {shared: cpus('0'), assignments}), 'static').assignments, assignments);
});

for (const [text, message] of [
  ['{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":1337}', 'checkpoint is corrupted'],
  [
    '{"policyName":"other","defaultCPUSet":"1-3","entries":{},"checksum":1394507217}',
    'configured policy "none" differs from state checkpoint policy "other"',
  ],
  [
    '{"policyName":"none","defaultCPUSet":"1.3","entries":{},"checksum":3021697696}',
    'could not parse default cpu set "1.3": strconv.Atoi: parsing "1.3": invalid syntax',
  ],
  [
    '{"policyName":"none","defaultCPUSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"asd"}},"checksum":962272150}',
    'could not parse cpuset "asd" for container "container2" in pod "pod": strconv.Atoi: parsing "asd": invalid syntax',
  ],
] as const)
  test(`the state ${text} is refused`, t => {
    t.throws(() => parseCpuState(text, 'none'), {message});
  });

test('options need their gates, and some exclude each other', t => {
  const none = (): boolean => false;
  t.throws(() => cpuPolicyOptions({'align-by-socket': 'true'}, none), {
    message: 'CPU Manager Policy Alpha-level Options not enabled, but option "align-by-socket" provided',
  });
  t.throws(() => cpuPolicyOptions({'distribute-cpus-across-numa': 'true'}, none), {
    message: 'CPU Manager Policy Beta-level Options not enabled, but option "distribute-cpus-across-numa" provided',
  });
  t.throws(() => cpuPolicyOptions({nothing: 'true'}, none), {message: 'unknown CPU Manager Policy option: "nothing"'});
  t.throws(() => cpuPolicyOptions({'full-pcpus-only': 'perhaps'}, none), {
    message: 'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "perhaps": invalid syntax',
  });
  t.throws(() => cpuPolicyOptions({'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true'}, () => true), {
    message: 'static policy options full-pcpus-only and distribute-cpus-across-cores can not be used at the same time',
  });
  t.true(cpuPolicyOptions({'strict-cpu-reservation': 'true'}, none).reservesStrictly);
});

for (const [settings, message] of [
  [{reservedSystemCPUs: ''}, '[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero'],
  [{reservedSystemCPUs: '3-4'}, 'reserved-cpus: 3-4 is not a subset of online-cpus: 0-3'],
  [
    {reservedSystemCPUs: '', systemReserved: {cpu: '5'}},
    'new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of  did not equal 5)',
  ],
  [
    {cpuManagerPolicy: 'none', cpuManagerPolicyOptions: {'full-pcpus-only': 'true'}},
    'new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]',
  ],
] as const)
  test(`an agent with ${JSON.stringify(settings)} does not start`, async t => {
    using host = folderHost();
    await t.throwsAsync(managersOf(host, {settings}), {message});
  });

test('whole CPUs of Guaranteed pods are exclusive, and all others share the rest', async t => {
  using host = folderHost();
  const managers = await managersOf(host);
  const [one, half, most] = [aGuaranteed('one', ['1', '500m']), aGuaranteed('half', ['1500m']), aGuaranteed('most', ['3'])];

  t.is(managers.reserve(one, []), undefined);
  t.is(managers.reserve(half, [one]), undefined);
  const refusal = await managers.reserve(most, [one, half]);

  t.is(cpusOfPod(managers, one), '1 0,2-3');
  t.is(cpusOfPod(managers, half), '0,2-3');
  t.deepEqual(managerRejection(refusal!), {
    reason: 'UnexpectedAdmissionError',
    message: 'Allocate failed due to not enough cpus available to satisfy request: requested=3, available=2, which is unexpected',
  });
});

test('CPUs come back when a pod is gone, but not before all sources have told their pods', async t => {
  using host = folderHost();
  const managers = await managersOf(host);
  const [one, two] = [aGuaranteed('one', ['3']), aGuaranteed('two', ['3'])];
  managers.reserve(one, []);
  await savedBy(managers);
  const unready = await managersOf(host, {isReady: () => false});

  t.is((await unready.reserve(two, []))?.is, 'failed');
  t.is(managers.reserve(two, []), undefined);

  t.is(cpusOfPod(managers, two), '1-3');
  t.is(cpusOfPod(managers, one), '0');
  await savedBy(managers);
});

test('an agent that starts again keeps the assignments, and refuses another policy and other CPUs', async t => {
  using host = folderHost();
  const pod = aGuaranteed('one', ['2']);
  const before = await managersOf(host);
  before.reserve(pod, []);
  await savedBy(before);

  const after = await managersOf(host);

  t.is(cpusOfPod(after, pod), '1-2');
  t.is(after.reserve(pod, []), undefined);
  t.is(cpusOfPod(after, pod), '1-2');
  await savedBy(after);
  const file = stateFile(host);
  await t.throwsAsync(managersOf(host, {settings: {cpuManagerPolicy: 'none'}}), {
    message: `could not restore state from checkpoint: configured policy "none" differs from state checkpoint policy "static", please drain this node and delete the CPU manager checkpoint file "${file}" before restarting Platlet`,
  });
  await t.throwsAsync(managersOf(host, {machine: {sockets: 1, coresPerNuma: 5}}), {
    message: 'current set of available CPUs "0-4" doesn\'t match with CPUs in state "0-3"',
  });
  await t.throwsAsync(managersOf(host, {settings: {reservedSystemCPUs: '1'}}), {
    message: 'not all reserved cpus: "1" are present in defaultCpuSet: "0,3"',
  });
  await t.throwsAsync(managersOf(host, {settings: {cpuManagerPolicyOptions: {'strict-cpu-reservation': 'true'}}}), {
    message: 'some of strictly reserved cpus: "0" are present in defaultCpuSet: "0,3"',
  });
});

test('the policy none writes a state, too', async t => {
  using host = folderHost();
  const managers = await managersOf(host, {settings: {cpuManagerPolicy: 'none'}});
  await savedBy(managers);

  t.is(await textOf(host, stateFile(host)), formatCpuState('none', {shared: cpus(''), assignments: new Map()}));
  t.is(managers.reserve(aGuaranteed('one', ['9']), []), undefined);
  t.is(cpusOfPod(managers, aGuaranteed('one', ['9'])), '');
});

test('a damaged state file ends the start', async t => {
  using host = folderHost();
  await put(host, stateFile(host), '{"policyName":"static","defaultCpuSet":"0-3","checksum":1}');

  await t.throwsAsync(managersOf(host), {message: /^could not restore state from checkpoint: checkpoint is corrupted, /});
});

test('containers reuse the CPUs of init containers, but not those of sidecars', async t => {
  using host = folderHost();
  const managers = await managersOf(host, {machine: {sockets: 1, coresPerNuma: 8}});
  const pod = aGuaranteed('one', ['2', '1'], ['3', {sidecar: '1'}, '2']);

  t.is(managers.reserve(pod, []), undefined);

  t.is(cpusOfPod(managers, pod), '1-3 1 2-3 2-3 4');
});

test('only whole cores are allocated with full-pcpus-only', async t => {
  using host = folderHost();
  const settings = {cpuManagerPolicyOptions: {'full-pcpus-only': 'true'}};
  const managers = await managersOf(host, {machine: smt, settings});

  t.is(managers.reserve(aGuaranteed('two', ['2']), []), undefined);
  const odd = await managers.reserve(aGuaranteed('odd', ['3']), [aGuaranteed('two', ['2'])]);
  const many = await managers.reserve(aGuaranteed('many', ['6']), [aGuaranteed('two', ['2'])]);

  t.is(cpusOfPod(managers, aGuaranteed('two', ['2'])), '1,5');
  t.deepEqual(managerRejection(odd!), {
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  });
  t.is(
    managerRejection(many!).message,
    'SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 4, requested CPUs = 6, CPUs per core = 2',
  );
});

test('reserved CPUs are not shared either with strict-cpu-reservation', async t => {
  using host = folderHost();
  const managers = await managersOf(host, {settings: {cpuManagerPolicyOptions: {'strict-cpu-reservation': 'true'}}});

  t.is(cpusOfPod(managers, aGuaranteed('one', ['500m'])), '1-3');
});

test('exclusive CPUs have no quota, unless the gate is off', async t => {
  using host = folderHost();
  const settings = {enforcesCpuLimits: true, cpuPeriod: 100_000, memoryCapacity: 2 ** 30, pageSizes: [], killsGroups: false};
  const pod = aGuaranteed('one', ['2', '500m']);
  const managers = await managersOf(host);
  managers.reserve(pod, []);
  const [own, shared] = pod.spec!.containers.map(container =>
    containerResources(pod, container, settings, managers.assignedTo(pod, container)),
  );

  t.like(own, {cpusetCpus: '1-2', cpuQuota: -1, cpuPeriod: 100_000});
  t.like(shared, {cpusetCpus: '0,3', cpuQuota: 50_000});
  t.is(sandboxResources(pod, settings, managers.isUnthrottled(pod)).resources.cpuQuota, -1);

  const limited = await managersOf(host, {gates: []});
  t.false(limited.isUnthrottled(pod));
  t.like(containerResources(pod, pod.spec!.containers[0]!, settings, limited.assignedTo(pod, pod.spec!.containers[0]!)), {
    cpuQuota: 200_000,
  });
});

test('resources are aligned on one NUMA node, or the pod is refused', async t => {
  using host = folderHost();
  const machine = {sockets: 2, coresPerNuma: 3} as const;
  const managers = await managersOf(host, {machine, settings: {topologyManagerPolicy: 'single-numa-node'}});
  const [two, three, four] = [aGuaranteed('two', ['2']), aGuaranteed('three', ['3']), aGuaranteed('four', ['4'])];

  t.is(managers.reserve(three, []), undefined);
  t.is(managers.reserve(two, [three]), undefined);
  const refusal = await managers.reserve(four, [three, two]);

  t.is(cpusOfPod(managers, three), '3-5');
  t.is(cpusOfPod(managers, two), '1-2');
  t.deepEqual(managerRejection(refusal!), {
    reason: 'TopologyAffinityError',
    message: 'Resources cannot be allocated with Topology locality',
  });
});

test('the scope pod aligns all containers of a pod together', async t => {
  using host = folderHost();
  const settings = {topologyManagerPolicy: 'single-numa-node', topologyManagerScope: 'pod'};
  const managers = await managersOf(host, {machine: {sockets: 2, coresPerNuma: 3}, settings});
  const pod = aGuaranteed('both', ['2', '1']);

  t.is(managers.reserve(pod, []), undefined);
  t.is(cpusOfPod(managers, pod), '3-4 5');
  t.is((await managers.reserve(aGuaranteed('wide', ['2', '1']), [pod]))?.is, 'topology');
});

test('running containers get the CPUs of the shared pool as it changes', async t => {
  const calls: string[] = [];
  let shared = '0-3';
  let fails = false;
  const reconciler = new CpuReconciler({
    log: noLog,
    affinityOf: (uid, name) => cpus(uid === 'one' && name === 'app0' ? '1' : shared),
    runtime: {
      async updateResources(id, {cpusetCpus}) {
        if (fails) throw new Error('busy');
        calls.push(`${id} ${cpusetCpus}`);
      },
    },
  });
  const pods = [aGuaranteed('one', ['1']), aGuaranteed('two', ['500m', '500m'])];
  const listed = pods.map(
    ({metadata, spec}) =>
      ({
        pod: {uid: metadata!.uid!},
        containers: spec!.containers.map(({name}) => ({
          id: `${metadata!.uid}/${name}`,
          name,
          state: name === 'app1' ? 'exited' : 'running',
        })),
      }) as unknown as RuntimePod,
  );

  await reconciler.reconcile(pods, listed);
  await reconciler.reconcile(pods, listed);
  shared = '0,2';
  fails = true;
  await reconciler.reconcile(pods, listed);
  fails = false;
  await reconciler.reconcile(pods, listed);

  t.deepEqual(calls, ['one/app0 1', 'two/app0 0-3', 'two/app0 0,2']);
});
