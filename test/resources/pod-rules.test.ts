import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {findings, startEnvironment} from './environment.js';
import {type Case, aPod, fileRef, gate, label, rule, withContainer, withInit, withVolume} from './pod-variants.js';

const withCertificate = (more: object): Pod =>
  withVolume({projected: {sources: [{podCertificate: {signerName: 'example.com/a', keyType: 'ED25519', keyPath: 'key', ...more}}]}});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const linuxSignals = [
  'SIGABRT',
  'SIGALRM',
  'SIGBUS',
  'SIGCHLD',
  'SIGCLD',
  'SIGCONT',
  'SIGFPE',
  'SIGHUP',
  'SIGILL',
  'SIGINT',
  'SIGIO',
  'SIGIOT',
  'SIGKILL',
  'SIGPIPE',
  'SIGPOLL',
  'SIGPROF',
  'SIGPWR',
  'SIGQUIT',
  'SIGRTMAX',
  'SIGRTMAX-1',
  'SIGRTMAX-10',
  'SIGRTMAX-11',
  'SIGRTMAX-12',
  'SIGRTMAX-13',
  'SIGRTMAX-14',
  'SIGRTMAX-2',
  'SIGRTMAX-3',
  'SIGRTMAX-4',
  'SIGRTMAX-5',
  'SIGRTMAX-6',
  'SIGRTMAX-7',
  'SIGRTMAX-8',
  'SIGRTMAX-9',
  'SIGRTMIN',
  'SIGRTMIN+1',
  'SIGRTMIN+10',
  'SIGRTMIN+11',
  'SIGRTMIN+12',
  'SIGRTMIN+13',
  'SIGRTMIN+14',
  'SIGRTMIN+15',
  'SIGRTMIN+2',
  'SIGRTMIN+3',
  'SIGRTMIN+4',
  'SIGRTMIN+5',
  'SIGRTMIN+6',
  'SIGRTMIN+7',
  'SIGRTMIN+8',
  'SIGRTMIN+9',
  'SIGSEGV',
  'SIGSTKFLT',
  'SIGSTOP',
  'SIGSYS',
  'SIGTERM',
  'SIGTRAP',
  'SIGTSTP',
  'SIGTTIN',
  'SIGTTOU',
  'SIGURG',
  'SIGUSR1',
  'SIGUSR2',
  'SIGVTALRM',
  'SIGWINCH',
  'SIGXCPU',
  'SIGXFSZ',
]
  .map(signal => JSON.stringify(signal))
  .join(', ');

const cases: readonly Case[] = [
  // Names.
  [
    'another host name than it can have',
    aPod({hostnameOverride: `${'a'.repeat(65)}`, setHostnameAsFQDN: true, hostNetwork: true}),
    [
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
      'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
      'spec.hostnameOverride: Too long: may not be more than 64 bytes',
    ],
  ],
  ['an empty host name instead of its own', aPod({hostnameOverride: ''}), [`spec.hostnameOverride: Invalid value: "": ${subdomain}`]],
  [
    'a workload without a name',
    aPod({workloadRef: {name: '', podGroup: 'A'}}),
    [`spec.workloadRef.name: Invalid value: "": ${subdomain}`, `spec.workloadRef.podGroup: Invalid value: "A": ${label}`],
    ['GenericWorkload'],
  ],
  ['a system without a name', aPod({os: {name: ''}}), ['spec.os.name: Required value']],
  // Variables from files.
  ['a file that lies nowhere', fileRef({}), ['spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"']],
  [
    'a file in a volume that is not empty',
    fileRef({}, {hostPath: {path: '/x'}}),
    ['spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "v": referenced volume must be of type emptyDir'],
  ],
  [
    'a file beyond its volume',
    fileRef({path: 'a/../b', volumeName: 'V'}, {emptyDir: {}}),
    [
      `spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Invalid value: "V": ${label}`,
      'spec.containers[0].env[0].valueFrom.fileKeyRef.path: Invalid value: "a/../b": must not contain \'..\'',
      'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "V"',
    ],
  ],
  ['an absolute file', fileRef({path: '/a'}, {emptyDir: {}}), []],
  [
    'a variable from nothing',
    withContainer({env: [{name: 'A', valueFrom: {}}]}),
    [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    ],
  ],
  // Certificates and bundles.
  [
    'a certificate of no known key',
    withCertificate({keyType: 'DSA'}),
    [
      'spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "DSA": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
    ],
    ['PodCertificateRequest'],
  ],
  [
    'a certificate without a signer',
    withVolume({projected: {sources: [{podCertificate: {}}]}}),
    [
      'spec.volumes[0].projected.sources[0].podCertificate.signerName: Required value',
      'spec.volumes[0].projected.sources[0].podCertificate.keyType: Unsupported value: "": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
      'spec.volumes[0].projected.sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath',
    ],
    ['PodCertificateRequest'],
  ],
  [
    'a bundle by its name and by labels',
    withVolume({
      projected: {
        sources: [{clusterTrustBundle: {name: 'a', path: 'p', labelSelector: {matchExpressions: [{operator: 'Exists', key: 'b'}]}}}],
      },
    }),
    [
      'spec.volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: Invalid value: {"matchExpressions":[{"key":"b","operator":"Exists"}]}: labelSelector must be unset if name is specified',
    ],
    ['ClusterTrustBundleProjection'],
  ],
  [
    'a certificate for too long',
    withCertificate({maxExpirationSeconds: 91 * 86400 + 1}),
    [
      'spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 7862401: if provided, maxExpirationSeconds must be <= 7862400',
    ],
    ['PodCertificateRequest'],
  ],
  [
    'a certificate of the platform for two days',
    withCertificate({signerName: 'own.plat.io/a', maxExpirationSeconds: 2 * 86400}),
    [
      'spec.volumes[0].projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 172800: if provided, maxExpirationSeconds must be <= 86400',
    ],
    ['PodCertificateRequest'],
  ],
  [
    'words for a signer without a domain',
    withCertificate({userAnnotations: {Plain: 'x'}}),
    [
      'spec.volumes[0].projected.sources[0].podCertificate.userAnnotations: Invalid value: "plain": must be a domain-prefixed key (such as "acme.io/foo")',
    ],
    ['PodCertificateRequest'],
  ],
  [
    'a bundle of a signer that it is not called after',
    withVolume({projected: {sources: [{clusterTrustBundle: {name: 'a:B', path: 'p'}}]}}),
    [
      `spec.volumes[0].projected.sources[0].clusterTrustBundle.name: Invalid value: "a:B": not a valid clustertrustbundlename: ${subdomain}`,
    ],
    ['ClusterTrustBundleProjection'],
  ],
  ['a volume of a driver without a name', withVolume({csi: {driver: ''}}), ['spec.volumes[0].csi.driver: Required value']],
  [
    'a volume without its fields',
    withVolume({nfs: {server: 's'}}),
    ['spec.volumes[0].nfs.path: Required value', 'spec.volumes[0].nfs.path: Invalid value: "": must be an absolute path'],
  ],
  // Signals.
  [
    'a signal for no system',
    withContainer({lifecycle: {stopSignal: 'SIGTERM'}}),
    ['spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`'],
    ['ContainerStopSignals'],
  ],
  [
    'a signal that the other system knows',
    withContainer({lifecycle: {stopSignal: 'SIGUSR1'}}, {os: {name: 'windows'}}),
    ['spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGUSR1": supported values: "SIGKILL", "SIGTERM"'],
    ['ContainerStopSignals'],
  ],
  [
    'an unknown signal',
    withContainer({lifecycle: {stopSignal: 'SIGX'}}, {os: {name: 'linux'}}),
    [`spec.containers[0].lifecycle.stopSignal: Unsupported value: "SIGX": supported values: ${linuxSignals}`],
    ['ContainerStopSignals'],
  ],
  // Restarts.
  [
    'too many restart rules',
    withContainer({restartPolicy: 'Never', restartPolicyRules: Array.from({length: 21}, () => rule('Restart'))}),
    ['spec.containers[0].restartPolicyRules: Too long: may not be more than 20 bytes'],
  ],
  [
    'a restart rule of too many codes',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [rule('Restart', 256)]}),
    ['spec.containers[0].restartPolicyRules[0].exitCodes.values: Too long: may not be more than 255 bytes'],
  ],
  [
    'a restart of all without the gate',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [rule('RestartAllContainers')]}),
    ['spec.containers[0].restartPolicyRules[0].action: Unsupported value: "RestartAllContainers": supported values: "Restart"'],
  ],
  [
    'a restart of all',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [rule('RestartAllContainers')]}),
    [],
    ['RestartAllContainersOnContainerExits'],
  ],
  [
    'rules for a sidecar',
    withInit({restartPolicy: 'Always', restartPolicyRules: [rule('Restart')]}),
    [
      'spec.initContainers[0].restartPolicyRules: Forbidden: restartPolicyRules are not allowed for init containers with restart policy Always',
    ],
  ],
  [
    'rules for a sidecar that may restart all',
    withInit({restartPolicy: 'Always', restartPolicyRules: [rule('RestartAllContainers')]}),
    [],
    ['RestartAllContainersOnContainerExits'],
  ],
  ['a policy of its own for an init container, without the gate', withInit({restartPolicy: 'Never'}), [], [], ['ContainerRestartRules']],
  [
    'a way to be resized that restarts what never restarts',
    withContainer(
      {restartPolicy: 'Always', resizePolicy: [{resourceName: 'cpu', restartPolicy: 'RestartContainer'}]},
      {restartPolicy: 'Never'},
    ),
    ["spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'"],
  ],
  ['a way to resize an init container', withInit({resizePolicy: [{resourceName: 'cpu', restartPolicy: 'NotRequired'}]}), []],
  // Tolerations.
  [
    'a toleration that compares, without the gate',
    aPod({tolerations: [{key: 'a', operator: 'Lt', value: '1'}]}),
    ['spec.tolerations[0].operator: Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'],
  ],
  [
    'a toleration that does what none does',
    aPod({tolerations: [{key: 'a', operator: 'Odd'}]}),
    ['spec.tolerations[0].operator: Unsupported value: "Odd": supported values: "Equal", "Exists"'],
  ],
  [
    'tolerations that compare with what is no number',
    aPod({tolerations: ['007', '1.5', '', '9223372036854775808'].map(value => ({key: 'a', operator: 'Gt', value}))}),
    [
      'spec.tolerations[0].value: Invalid value: "007": must be a valid decimal integer in canonical form',
      'spec.tolerations[1].value: Invalid value: "1.5": must be a valid decimal integer in canonical form',
      'spec.tolerations[1].value: Invalid value: "1.5": strconv.ParseInt: parsing "1.5": invalid syntax',
      'spec.tolerations[2].value: Invalid value: "": must be non-empty',
      'spec.tolerations[2].value: Invalid value: "": strconv.ParseInt: parsing "": invalid syntax',
      'spec.tolerations[3].value: Invalid value: "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range',
    ],
    ['TaintTolerationComparisonOperators'],
  ],
  // Users.
  [
    "users of its own beside what is the node's",
    aPod({hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true}),
    [
      'spec.hostNetwork: Forbidden: when `hostUsers` is false',
      'spec.HostPID: Forbidden: when `hostUsers` is false',
      'spec.HostIPC: Forbidden: when `hostUsers` is false',
    ],
  ],
  ["users of its own on the node's network", aPod({hostUsers: false, hostNetwork: true}), [], ['UserNamespacesHostNetworkSupport']],
  [
    'users of its own and a device',
    withContainer(
      {volumeDevices: [{name: 'v', devicePath: '/dev/x'}]},
      {hostUsers: false, volumes: [{name: 'v', persistentVolumeClaim: {claimName: 'c'}}]},
    ),
    ['spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false'],
  ],
];

for (const [title, pod, expected, on = [], off = []] of cases) {
  test(`a pod with ${title} is ${expected.length > 0 ? 'refused' : 'let be'}`, async t => {
    const {of} = await startEnvironment({gate: gate(on, off)});

    t.deepEqual(await findings(of(kinds.pods).create(pod)), [...expected]);
  });
}
