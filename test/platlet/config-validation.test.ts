import test from 'ava';
import {naming} from '#src/api/naming.js';
import {parseFlags} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {amountsError} from '#src/platlet/config/amounts.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {settingsOfFlags} from '#src/platlet/config/settings.js';
import {checkConfiguration, configurationErrors} from '#src/platlet/config/validate.js';

const usual = (): Settings => {
  const {options, set} = parseFlags(platletFlags, []);
  return settingsOfFlags(options, set);
};

type Row = readonly [change: Partial<Settings>, ...errors: string[]];

const notNegative = (field: keyof Settings, flag: string): Row => [{[field]: -1}, `${field} (--${flag}) -1 must not be a negative number`];
const inRange = (field: keyof Settings, flag: string, value: number, least: number, most: number): Row => [
  {[field]: value},
  `${field} (--${flag}) ${value} must be between ${least} and ${most}, inclusive`,
];
const enforcement = 'enforceNodeAllocatable (--enforce-node-allocatable)';
const cgroupOf = (field: string, flag: string, share: string): string =>
  `${field} (--${flag}) must be specified when ${JSON.stringify(share)} or ${JSON.stringify(`${share}-compressible`)} included in ${enforcement}`;
const bigPrefix = 'pod logs path "/ä" mut contains ASCII characters only';
const cores =
  "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--plat-reserved-cgroup)";
const both = (share: string): string => `both "${share}" and "${share}-compressible" cannot be specified together in ${enforcement}`;

/** With all gates but those that a row turns off. */
const rows: readonly Row[] = [
  [{}],
  [{nodeLeaseDurationSeconds: 0}, 'nodeLeaseDurationSeconds must be greater than 0'],
  [{systemCgroups: '/system'}, 'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified'],
  [{systemCgroups: '/system', cgroupRoot: '/'}],
  [{systemCgroups: '/', cgroupRoot: '/'}, 'system container cannot be root ("/")'],
  [{podLogsDir: ''}, 'podLogsDir was not specified'],
  [{podLogsDir: 'logs'}, 'pod logs path "logs" must be absolute path'],
  [{podLogsDir: '/a/../b'}, 'pod logs path "/a/../b" must be normalized'],
  [{podLogsDir: '/a//b'}, 'pod logs path "/a//b" must be normalized'],
  [{podLogsDir: '/ä'}, bigPrefix],
  [{containerRuntimeEndpoint: ''}, 'the containerRuntimeEndpoint was not specified or empty'],
  notNegative('eventBurst', 'event-burst'),
  notNegative('eventRecordQPS', 'event-qps'),
  notNegative('kubeAPIBurst', 'plat-api-burst'),
  notNegative('kubeAPIQPS', 'plat-api-qps'),
  notNegative('maxOpenFiles', 'max-open-files'),
  notNegative('maxPods', 'max-pods'),
  notNegative('podsPerCore', 'pods-per-core'),
  notNegative('registryBurst', 'registry-burst'),
  notNegative('registryPullQPS', 'registry-qps'),
  [{nodeStatusMaxImages: -2}, 'nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater'],
  [{nodeStatusMaxImages: -1}],
  [{healthzPort: 0}],
  inRange('healthzPort', 'healthz-port', 70_000, 1, 65_535),
  inRange('port', 'port', 0, 1, 65_535),
  inRange('readOnlyPort', 'read-only-port', -1, 0, 65_535),
  [{readOnlyPort: 0}],
  inRange('oomScoreAdj', 'oom-score-adj', 1001, -1000, 1000),
  inRange('oomScoreAdj', 'oom-score-adj', -1001, -1000, 1000),
  inRange('imageGCHighThresholdPercent', 'image-gc-high-threshold', 101, 0, 100),
  inRange('imageGCLowThresholdPercent', 'image-gc-low-threshold', -1, 0, 100),
  [
    {imageGCLowThresholdPercent: 85},
    'imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) 85',
  ],
  inRange('iptablesMasqueradeBit', 'iptables-masquerade-bit', 32, 0, 31),
  inRange('iptablesDropBit', 'iptables-drop-bit', -1, 0, 31),
  [{cpuCFSQuotaPeriod: 0.5}, 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 500µs must be between 1ms and 1sec, inclusive'],
  [{cpuCFSQuotaPeriod: 2000}, 'cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 2s must be between 1ms and 1sec, inclusive'],
  [{imageMaximumGCAge: -1000}, 'imageMaximumGCAge -1s must not be negative'],
  [{imageMaximumGCAge: 60_000}, 'imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s'],
  [{maxParallelImagePulls: -1}, 'maxParallelImagePulls -1 must be a positive number'],
  [
    {maxParallelImagePulls: 2},
    'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
  ],
  [{maxParallelImagePulls: 2, serializeImagePulls: false}],
  [{serverTLSBootstrap: true}],
  [{runOnce: true}, 'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set'],
  [{registerWithTaints: [{key: 'a', value: 'b', effect: 'NoSchedule'}]}],
  [{registerWithTaints: [{key: 'a b', value: 'b', effect: 'NoSchedule'}]}, 'invalid taint: {a b b NoSchedule <nil>}'],
  [{registerWithTaints: [{key: 'a', effect: 'Never'}]}, 'invalid taint: {a  Never <nil>}'],
  [{registerWithTaints: [{key: 'a', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z'}]}, 'taint.TimeAdded is not nil'],
  [
    {topologyManagerPolicy: 'x'},
    'topologyManagerPolicy (--topology-manager-policy) "x" must be one of: ["none" "best-effort" "restricted" "single-numa-node"]',
  ],
  [{topologyManagerScope: 'x'}, 'topologyManagerScope (--topology-manager-scope) "x" must be one of: "container", or "pod"'],
  [
    {hairpinMode: 'x'},
    'option "x" specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"',
  ],
  [
    {shutdownGracePeriodCriticalPods: 2000, shutdownGracePeriod: 1000},
    'shutdownGracePeriodCriticalPods 2s must be <= shutdownGracePeriod 1s',
  ],
  [{shutdownGracePeriod: 500}, 'shutdownGracePeriod 500ms must be either zero or otherwise >= 1 sec'],
  [
    {shutdownGracePeriod: 2000, shutdownGracePeriodCriticalPods: 500},
    'shutdownGracePeriodCriticalPods 500ms must be either zero or otherwise >= 1 sec',
  ],
  [
    {shutdownGracePeriod: 2000, shutdownGracePeriodByPodPriority: [{priority: 1, shutdownGracePeriodSeconds: 1}]},
    'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
  ],
  [{'memorySwap.swapBehavior': 'x'}, 'memorySwap.swapBehavior "x" must be one of: "", "LimitedSwap" or "NoSwap"'],
  [
    {'crashLoopBackOff.maxContainerRestartPeriod': 500},
    'CrashLoopBackOff.MaxContainerRestartPeriod (got: 0.5 seconds) must be set between 1s and 300s',
  ],
  [
    {'crashLoopBackOff.maxContainerRestartPeriod': 301_000},
    'CrashLoopBackOff.MaxContainerRestartPeriod (got: 301 seconds) must be set between 1s and 300s',
  ],
  [{enforceNodeAllocatable: ['system-reserved', 'system-reserved-compressible'], systemReservedCgroup: '/s'}, both('system-reserved')],
  [{enforceNodeAllocatable: ['plat-reserved', 'plat-reserved-compressible'], kubeReservedCgroup: '/s'}, both('plat-reserved')],
  [{enforceNodeAllocatable: ['pods', 'pods']}, `duplicated enforcements "pods" in ${enforcement}`],
  [{enforceNodeAllocatable: ['system-reserved']}, cgroupOf('systemReservedCgroup', 'system-reserved-cgroup', 'system-reserved')],
  [{enforceNodeAllocatable: ['plat-reserved']}, cgroupOf('kubeReservedCgroup', 'plat-reserved-cgroup', 'plat-reserved')],
  [{enforceNodeAllocatable: ['none', 'pods']}, `${enforcement} may not contain additional enforcements when "none" is specified`],
  [
    {enforceNodeAllocatable: ['x']},
    `option "x" specified for ${enforcement}. Valid options are "pods", "system-reserved", "system-reserved-compressible", "plat-reserved", "plat-reserved-compressible" or "none"`,
  ],
  [{cgroupsPerQOS: false}, `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in ${enforcement}`],
  [{cgroupsPerQOS: false, enforceNodeAllocatable: ['none']}],
  [{reservedSystemCPUs: '0-1', systemReservedCgroup: '/s'}, cores],
  [{reservedSystemCPUs: '0-1', kubeReservedCgroup: '/s'}, cores],
  [
    {reservedSystemCPUs: '0-a'},
    'unable to parse reservedSystemCPUs (--reserved-cpus) 0-a, error: strconv.Atoi: parsing "a": invalid syntax',
  ],
  [{reservedSystemCPUs: '3-1'}, 'unable to parse reservedSystemCPUs (--reserved-cpus) 3-1, error: invalid range "3-1" (3 > 1)'],
  [{reservedMemory: [{numaNode: 0, limits: {memory: '1Gi', 'hugepages-2Mi': '2Mi'}}]}],
  [
    {reservedMemory: [{numaNode: 1, limits: {cpu: '1'}}]},
    'the limit type "cpu" for NUMA node 1 is not supported, only [memory hugepages-<HugePageSize>] is accepted',
  ],
  [{reservedMemory: [{numaNode: 0, limits: {memory: '0'}}]}, 'reserved memory may not be zero for NUMA node 0 and resource "memory"'],
  [
    {
      reservedMemory: [
        {numaNode: 0, limits: {memory: '1'}},
        {numaNode: 0, limits: {memory: '2'}},
      ],
    },
    'the reserved memory has a duplicate value for NUMA node 0 and resource "memory"',
  ],
  [{containerLogMaxFiles: 1}, 'containerLogMaxFiles must be greater than 1'],
  [{containerLogMaxWorkers: 0}, 'containerLogMaxWorkers must be greater than or equal to 1'],
  [{containerLogMonitorInterval: 2000}, 'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s'],
  [{memoryThrottlingFactor: 0}, 'memoryThrottlingFactor 0 must be greater than 0 and less than or equal to 1.0'],
  [{memoryThrottlingFactor: 1.5}, 'memoryThrottlingFactor 1.5 must be greater than 0 and less than or equal to 1.0'],
  [{'userNamespaces.idsPerPod': 1000}, 'userNamespaces.idsPerPod must be a multiple of 65536'],
];

const errorsOf = (change: Partial<Settings>, off: readonly string[] = [], isCgroupV1 = false): readonly string[] =>
  configurationErrors({...usual(), ...change}, {naming: naming('plat'), isCgroupV1, gate: name => !off.includes(name)});

for (const [change, ...errors] of rows)
  test(`the configuration ${JSON.stringify(change)} has ${errors.length} errors`, t => {
    t.deepEqual(
      errorsOf(change),
      errors.map(error => `invalid configuration: ${error}`),
    );
  });

test('fields need the gates of their features', t => {
  const prefix = 'invalid configuration: ';
  t.deepEqual(errorsOf({cpuCFSQuotaPeriod: 50}, ['CustomCPUCFSQuotaPeriod']), [
    `${prefix}cpuCFSQuotaPeriod (--cpu-cfs-quota-period) 50ms requires feature gate CustomCPUCFSQuotaPeriod`,
  ]);
  t.deepEqual(errorsOf({serverTLSBootstrap: true}, ['RotatePlatletServerCertificate']), [
    `${prefix}serverTLSBootstrap true requires feature gate RotatePlatletServerCertificate`,
  ]);
  t.deepEqual(errorsOf({'crashLoopBackOff.maxContainerRestartPeriod': 5000}, ['PlatletCrashLoopBackOffMax']), [
    `${prefix}FeatureGate PlatletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set`,
  ]);
});

test('control groups of version 1 are refused with what needs those of version 2', t => {
  t.deepEqual(errorsOf({}, [], true), [
    'platlet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
  ]);
  t.deepEqual(errorsOf({failCgroupV1: false, 'memorySwap.swapBehavior': 'LimitedSwap'}, [], true), [
    'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
  ]);
  t.deepEqual(errorsOf({failCgroupV1: false, singleProcessOOMKill: false}, [], true), [
    'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
  ]);
  t.deepEqual(errorsOf({singleProcessOOMKill: false}), []);
});

const amounts: readonly (readonly [change: Partial<Settings>, error: string | undefined])[] = [
  [{kubeReserved: {cpu: '100m', memory: '1Gi', 'ephemeral-storage': '1Gi', pid: '100'}}, undefined],
  [{kubeReserved: {gpu: '1'}}, '--plat-reserved value failed to parse: cannot reserve "gpu" resource'],
  [{systemReserved: {gpu: '1'}}, '--system-reserved value failed to parse: cannot reserve "gpu" resource'],
  [{systemReserved: {cpu: '-1'}}, '--system-reserved value failed to parse: resource quantity for "cpu" cannot be negative: -1'],
  [{qosReserved: {cpu: '1%'}}, '--qos-reserved value failed to parse: cannot reserve "cpu" resource'],
  [
    {qosReserved: {memory: '101%'}},
    '--qos-reserved value failed to parse: failed to parse percentage "101%" for "memory" resource: only percentage between 0 and 100 is valid. got \'101\'',
  ],
  [{evictionHard: {'memory.available': '100Mi', 'nodefs.available': '10%', 'pid.available': '0%'}}, undefined],
  [{evictionHard: {'cpu.available': '1'}}, 'unsupported eviction signal cpu.available'],
  [{evictionHard: {'memory.available': '-5%'}}, 'eviction percentage threshold memory.available must be >= 0%: -5%'],
  [{evictionHard: {'memory.available': '100.5%'}}, 'eviction percentage threshold memory.available must be <= 100%: 100.5%'],
  [{evictionHard: {'memory.available': '0'}}, 'eviction threshold memory.available must be positive: 0'],
  [{evictionHard: {'memory.available': '-1Gi'}}, 'eviction threshold memory.available must be positive: -1Gi'],
  [{evictionSoft: {'memory.available': '1Gi'}}, 'grace period must be specified for the soft eviction threshold memory.available'],
  [{evictionSoft: {'memory.available': '1Gi'}, evictionSoftGracePeriod: {'memory.available': '30s'}}, undefined],
  [{evictionSoftGracePeriod: {'memory.available': '-30s'}}, 'invalid eviction grace period specified: -30s, must be a positive value'],
  [{evictionSoftGracePeriod: {x: '30s'}}, 'unsupported eviction signal x'],
  [{evictionMinimumReclaim: {'memory.available': '0%'}}, 'eviction percentage minimum reclaim memory.available must be positive: 0%'],
  [{evictionMinimumReclaim: {'memory.available': '-1'}}, 'negative eviction minimum reclaim specified for memory.available'],
  [{evictionMinimumReclaim: {'memory.available': '0'}}, undefined],
];

for (const [change, error] of amounts)
  test(`the amounts ${JSON.stringify(change)} are ${error === undefined ? 'fine' : 'refused'}`, t => {
    t.is(
      amountsError({...usual(), ...change}, naming('plat'), () => true),
      error,
    );
  });

test('all errors are reported at once, with the file', t => {
  const context = {naming: naming('kubernetes'), isCgroupV1: false, gate: () => true};
  t.throws(() => checkConfiguration({...usual(), maxPods: -1, port: 0}, 'a.yaml', context), {
    message:
      'failed to validate kubelet configuration, error: [invalid configuration: maxPods (--max-pods) -1 must not be a negative number, invalid configuration: port (--port) 0 must be between 1 and 65535, inclusive], path: a.yaml',
  });
  t.throws(() => checkConfiguration({...usual(), kubeReserved: {x: '1'}}, '', context), {
    message: '--kube-reserved value failed to parse: cannot reserve "x" resource',
  });
});

test('tracing names a collector and a rate', t => {
  t.deepEqual(errorsOf({'tracing.endpoint': 'localhost:4317', 'tracing.samplingRatePerMillion': 1_000_000}), []);
  t.deepEqual(errorsOf({'tracing.endpoint': 'http://a', 'tracing.samplingRatePerMillion': -1}), [
    'tracing.samplingRatePerMillion: Invalid value: -1: sampling rate must be positive',
    'tracing.endpoint: Invalid value: "http://a": unsupported scheme: http.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
  ]);
});
