// Validation of a configuration. All errors are reported together, with the original's messages.

import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import {formatDuration} from '#src/api/duration.js';
import {messageOf} from '#src/base/message.js';
import {checkAllowlist, verificationPolicies} from '#src/platlet/images/verification.js';
import {tracingErrors} from '#src/transport/otlp/target.js';
import {amountsError} from './amounts.js';
import {quoted, messagesIf, type Check, type ValidationContext} from './checks.js';
import {reservations} from './reservations.js';
import {tracingOf} from './settings.js';
import {fields, type FieldName, type Settings} from './fields.js';

const notNegative =
  (name: FieldName, flag: string): Check =>
  settings =>
    messagesIf((settings[name] as number) < 0, `${name} (${flag}) ${String(settings[name])} must not be a negative number`);

const between =
  (name: FieldName, flag: string, least: number, most: number, allowed?: number): Check =>
  settings => {
    const value = settings[name] as number;
    const isFine = value === allowed || (value >= least && value <= most);
    return messagesIf(!isFine, `${name} (${flag}) ${value} must be between ${least} and ${most}, inclusive`);
  };

/** The maximum backoff of restarts if none is configured. */
const usualRestartMs = 300_000;

const numbers: readonly Check[] = [
  ({nodeLeaseDurationSeconds}) => messagesIf(nodeLeaseDurationSeconds <= 0, 'nodeLeaseDurationSeconds must be greater than 0'),
  notNegative('eventBurst', '--event-burst'),
  notNegative('eventRecordQPS', '--event-qps'),
  between('healthzPort', '--healthz-port', 1, 65_535, 0),
  ({cpuCFSQuotaPeriod: period}, {gate}) => {
    const of = `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${formatDuration(period)}`;
    if (!gate('CustomCPUCFSQuotaPeriod')) return messagesIf(period !== 100, `${of} requires feature gate CustomCPUCFSQuotaPeriod`);
    return messagesIf(period < 1 || period > 1000, `${of} must be between 1ms and 1sec, inclusive`);
  },
  between('imageGCHighThresholdPercent', '--image-gc-high-threshold', 0, 100),
  between('imageGCLowThresholdPercent', '--image-gc-low-threshold', 0, 100),
  ({imageGCLowThresholdPercent: low, imageGCHighThresholdPercent: high}) =>
    messagesIf(
      low >= high,
      `imageGCLowThresholdPercent (--image-gc-low-threshold) ${low} must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) ${high}`,
    ),
  ({imageMaximumGCAge: oldest, imageMinimumGCAge: youngest}) => [
    ...messagesIf(oldest < 0, `imageMaximumGCAge ${formatDuration(oldest)} must not be negative`),
    ...messagesIf(
      oldest > 0 && oldest <= youngest,
      `imageMaximumGCAge ${formatDuration(oldest)} must be greater than imageMinimumGCAge ${formatDuration(youngest)}`,
    ),
  ],
  between('iptablesDropBit', '--iptables-drop-bit', 0, 31),
  between('iptablesMasqueradeBit', '--iptables-masquerade-bit', 0, 31),
  (settings, context) => notNegative('kubeAPIBurst', `--${context.naming.component('api-burst')}`)(settings, context),
  (settings, context) => notNegative('kubeAPIQPS', `--${context.naming.component('api-qps')}`)(settings, context),
  ({nodeStatusMaxImages: most}) => messagesIf(most < -1, `nodeStatusMaxImages (--node-status-max-images) ${most} must be -1 or greater`),
  notNegative('maxOpenFiles', '--max-open-files'),
  notNegative('maxPods', '--max-pods'),
  between('oomScoreAdj', '--oom-score-adj', -1000, 1000),
  notNegative('podsPerCore', '--pods-per-core'),
  between('port', '--port', 1, 65_535),
  between('readOnlyPort', '--read-only-port', 0, 65_535),
  notNegative('registryBurst', '--registry-burst'),
  notNegative('registryPullQPS', '--registry-qps'),
  ({containerLogMaxFiles}) => messagesIf(containerLogMaxFiles <= 1, 'containerLogMaxFiles must be greater than 1'),
  ({containerLogMaxWorkers}) => messagesIf(containerLogMaxWorkers < 1, 'containerLogMaxWorkers must be greater than or equal to 1'),
  ({containerLogMonitorInterval}) =>
    messagesIf(
      containerLogMonitorInterval < 3000,
      'containerLogMonitorInterval must be a positive time duration greater than or equal to 3s',
    ),
  ({memoryThrottlingFactor: factor}) =>
    messagesIf(factor <= 0 || factor > 1, `memoryThrottlingFactor ${factor} must be greater than 0 and less than or equal to 1.0`),
  settings => messagesIf(settings['userNamespaces.idsPerPod'] % 65_536 !== 0, 'userNamespaces.idsPerPod must be a multiple of 65536'),
  (settings, {gate, naming}) => {
    const ms = settings['crashLoopBackOff.maxContainerRestartPeriod'];
    if (!gate('PlatletCrashLoopBackOffMax'))
      return messagesIf(
        ms !== usualRestartMs,
        `FeatureGate ${naming.inWords('KubeletCrashLoopBackOffMax')} not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not be set`,
      );
    return messagesIf(
      ms < 1000 || ms > 300_000,
      `CrashLoopBackOff.MaxContainerRestartPeriod (got: ${ms / 1000} seconds) must be set between 1s and 300s`,
    );
  },
];

const choices: readonly Check[] = [
  ({serializeImagePulls, maxParallelImagePulls: most}) => [
    ...messagesIf(most < 0, `maxParallelImagePulls ${most} must be a positive number`),
    ...messagesIf(
      most > 1 && serializeImagePulls,
      'maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set to false',
    ),
  ],
  ({serverTLSBootstrap}, {gate, naming}) =>
    messagesIf(
      serverTLSBootstrap && !gate('RotatePlatletServerCertificate'),
      `serverTLSBootstrap true requires feature gate ${naming.inWords('RotateKubeletServerCertificate')}`,
    ),
  ({topologyManagerPolicy: policy}) =>
    messagesIf(
      !['none', 'best-effort', 'restricted', 'single-numa-node'].includes(policy),
      `topologyManagerPolicy (--topology-manager-policy) ${quoted(policy)} must be one of: ["none" "best-effort" "restricted" "single-numa-node"]`,
    ),
  ({topologyManagerScope: scope}) =>
    messagesIf(
      !['container', 'pod'].includes(scope),
      `topologyManagerScope (--topology-manager-scope) ${quoted(scope)} must be one of: "container", or "pod"`,
    ),
  ({hairpinMode: mode}) =>
    messagesIf(
      !['none', 'hairpin-veth', 'promiscuous-bridge'].includes(mode),
      `option ${quoted(mode)} specified for hairpinMode (--hairpin-mode). Valid options are "none", "hairpin-veth" or "promiscuous-bridge"`,
    ),
  settings => {
    const behavior = settings['memorySwap.swapBehavior'];
    return messagesIf(
      !['', 'LimitedSwap', 'NoSwap'].includes(behavior),
      `memorySwap.swapBehavior ${quoted(behavior)} must be one of: "", "LimitedSwap" or "NoSwap"`,
    );
  },
  ({singleProcessOOMKill}, {isCgroupV1}) =>
    messagesIf(
      isCgroupV1 && singleProcessOOMKill === false,
      'singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    ),
  ({registerWithTaints}) =>
    registerWithTaints.flatMap(({key, value = '', effect, timeAdded}) => [
      ...messagesIf(
        !isTaint(key, value, effect),
        `invalid taint: {${String(key)} ${String(value)} ${String(effect)} ${timeAdded === undefined ? '<nil>' : String(timeAdded)}}`,
      ),
      ...messagesIf(timeAdded !== undefined, 'taint.TimeAdded is not nil'),
    ]),
  ({runOnce}) => messagesIf(runOnce, 'runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set'),
  ({shutdownGracePeriod: total, shutdownGracePeriodCriticalPods: critical, shutdownGracePeriodByPodPriority: byPriority}, {gate}) => [
    ...(gate('GracefulNodeShutdown')
      ? [
          ...messagesIf(
            critical > total,
            `shutdownGracePeriodCriticalPods ${formatDuration(critical)} must be <= shutdownGracePeriod ${formatDuration(total)}`,
          ),
          ...messagesIf(
            total !== 0 && total < 1000,
            `shutdownGracePeriod ${formatDuration(total)} must be either zero or otherwise >= 1 sec`,
          ),
          ...messagesIf(
            critical !== 0 && critical < 1000,
            `shutdownGracePeriodCriticalPods ${formatDuration(critical)} must be either zero or otherwise >= 1 sec`,
          ),
        ]
      : messagesIf(
          total > 0 || critical > 0,
          'specifying shutdownGracePeriod or shutdownGracePeriodCriticalPods requires feature gate GracefulNodeShutdown',
        )),
    ...(gate('GracefulNodeShutdownBasedOnPodPriority')
      ? messagesIf(
          byPriority.length > 0 && (total > 0 || critical > 0),
          'Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time',
        )
      : messagesIf(
          byPriority.length > 0,
          'Specifying shutdownGracePeriodByPodPriority requires feature gate GracefulNodeShutdownBasedOnPodPriority',
        )),
  ],
];

/** Returns why a list of allowed images is invalid. */
const allowlistError = (patterns: readonly string[]): string | undefined => {
  try {
    checkAllowlist(patterns);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
};

const imageChecks: Check = (settings, {gate, naming}) => {
  const {imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist} = settings;
  if (!gate('PlatletEnsureSecretPulledImages')) {
    const text = `must not be set if ${naming.inWords('KubeletEnsureSecretPulledImages')} feature gate is not enabled`;
    return [
      ...messagesIf(policy !== fields.imagePullCredentialsVerificationPolicy.default, `\`imagePullCredentialsVerificationPolicy\` ${text}`),
      ...messagesIf(allowlist.length > 0, `\`preloadedImagesVerificationAllowlist\` ${text}`),
    ];
  }
  const [never, preloaded, allowlisted, always] = verificationPolicies;
  const isMisplaced = allowlist.length > 0 && policy !== allowlisted;
  const invalid = isMisplaced ? undefined : allowlistError(allowlist);
  return [
    ...messagesIf(
      !(verificationPolicies as readonly string[]).includes(policy),
      `option ${quoted(policy)} specified for imagePullCredentialsVerificationPolicy. Valid options are ${quoted(never)}, ${quoted(preloaded)}, ${quoted(allowlisted)} or ${quoted(always)}`,
    ),
    // Misspelled in the original.
    ...messagesIf(
      isMisplaced,
      `can't set \`preloadedImagesVerificationAllowlist\` if \`imagePullCredentialsVertificationPolicy\` is not ${quoted(allowlisted)}`,
    ),
    ...messagesIf(invalid !== undefined, `invalid image pattern in \`preloadedImagesVerificationAllowlist\`: ${invalid}`),
  ];
};
const taintEffects: readonly unknown[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const isTaint = (key: unknown, value: unknown, effect: unknown): boolean =>
  typeof key === 'string' &&
  typeof value === 'string' &&
  taintEffects.includes(effect) &&
  [...labelKeyProblems(key), ...labelValueProblems(value)].length === 0;

const hasAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text);
const isNormal = (path: string): boolean => path === '/' || (!path.endsWith('/') && !/\/(\/|\.\.?(\/|$))/.test(path));

const places: readonly Check[] = [
  ({systemCgroups}) => messagesIf(systemCgroups === '/', 'system container cannot be root ("/")'),
  ({systemCgroups, cgroupRoot}) =>
    messagesIf(
      systemCgroups !== '' && cgroupRoot === '',
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ),
  ({containerRuntimeEndpoint}) => messagesIf(containerRuntimeEndpoint === '', 'the containerRuntimeEndpoint was not specified or empty'),
  ({podLogsDir: path}) =>
    path === ''
      ? ['podLogsDir was not specified']
      : [
          ...messagesIf(!path.startsWith('/'), `pod logs path ${quoted(path)} must be absolute path`),
          ...messagesIf(!isNormal(path), `pod logs path ${quoted(path)} must be normalized`),
          ...messagesIf(!hasAscii(path), `pod logs path ${quoted(path)} mut contains ASCII characters only`),
        ],
  ({reservedSystemCPUs, systemReservedCgroup, kubeReservedCgroup}, {naming}) =>
    messagesIf(
      reservedSystemCPUs !== '' && (systemReservedCgroup !== '' || kubeReservedCgroup !== ''),
      `can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--${naming.component('reserved-cgroup')})`,
    ),
];

const enforcement = 'enforceNodeAllocatable (--enforce-node-allocatable)';

const enforcementCheck: Check = (settings, {naming}) => {
  const {enforceNodeAllocatable: items, cgroupsPerQOS, systemReservedCgroup, kubeReservedCgroup} = settings;
  const own = naming.component('reserved');
  const shares = [
    {name: 'system-reserved', cgroup: systemReservedCgroup, field: 'systemReservedCgroup (--system-reserved-cgroup)'},
    {name: own, cgroup: kubeReservedCgroup, field: `kubeReservedCgroup (--${own}-cgroup)`},
  ];
  const valid = ['none', 'pods', ...shares.flatMap(({name}) => [name, `${name}-compressible`])];
  return [
    ...shares.flatMap(({name}) =>
      messagesIf(
        items.includes(name) && items.includes(`${name}-compressible`),
        `both ${quoted(name)} and ${quoted(`${name}-compressible`)} cannot be specified together in ${enforcement}`,
      ),
    ),
    ...items.flatMap((item, index) => [
      ...messagesIf(items.indexOf(item) !== index, `duplicated enforcements ${quoted(item)} in ${enforcement}`),
      ...shares.flatMap(({name, cgroup, field}) =>
        messagesIf(
          (item === name || item === `${name}-compressible`) && cgroup === '',
          `${field} must be specified when ${quoted(name)} or ${quoted(`${name}-compressible`)} included in ${enforcement}`,
        ),
      ),
      ...messagesIf(item === 'none' && items.length > 1, `${enforcement} may not contain additional enforcements when "none" is specified`),
      ...messagesIf(
        !valid.includes(item),
        `option ${quoted(item)} specified for ${enforcement}. Valid options are ${valid
          .slice(1)
          .map(option => quoted(option))
          .join(', ')} or "none"`,
      ),
      ...messagesIf(
        valid.includes(item) && item !== 'none' && !cgroupsPerQOS,
        `cgroupsPerQOS (--cgroups-per-qos) must be set to true when ${quoted(item)} contained in ${enforcement}`,
      ),
    ]),
  ];
};

const prefix = 'invalid configuration: ';

/** The checks of tracing, whose messages have no prefix. */
const tracingCheck: Check = settings => tracingErrors(tracingOf(settings), 'tracing.').map(({path, detail}) => `${path}: ${detail}`);

/** Checks that depend on the host, whose messages have no prefix. */
const hostChecks: Check = (settings, {isCgroupV1, naming}) => [
  ...messagesIf(
    isCgroupV1 && settings.failCgroupV1,
    `${naming.agent} is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release`,
  ),
  ...messagesIf(
    isCgroupV1 && settings['memorySwap.swapBehavior'] === 'LimitedSwap',
    'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
  ),
];

/** Returns the errors of a configuration. */
export const configurationErrors = (settings: Settings, context: ValidationContext): readonly string[] => [
  ...[...numbers, ...choices, ...places, ...reservations, enforcementCheck, imageChecks]
    .flatMap(check => check(settings, context))
    .map(text => `${prefix}${text}`),
  ...hostChecks(settings, context),
  ...tracingCheck(settings, context),
];

/** Throws one error with all that is invalid in a configuration, which was read from `path` unless that is empty. */
export const checkConfiguration = (settings: Settings, path: string, context: ValidationContext): void => {
  const errors = configurationErrors(settings, context);
  const amounts = errors.length === 0 ? amountsError(settings, context.naming, context.gate) : undefined;
  if (amounts !== undefined) throw new Error(amounts);
  if (errors.length === 0) return;
  const list = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
  throw new Error(`failed to validate ${context.naming.agent} configuration, error: ${list}, path: ${path}`);
};
