import test from 'ava';
import {kinds} from '#src/api/kinds.js';
import type {Container, Pod, PodSpec, PodStatus} from '#src/api/pod.js';
import {readGates} from '#src/options/feature-gates.js';
import {readVersions} from '#src/options/versions.js';
import {warningsOf} from './warnings.js';
import {findings, startEnvironment} from './environment.js';

const {gates} = readGates(new Map(), readVersions([], []));
const usual = (name: string): boolean => gates.enabled(name as Parameters<typeof gates.enabled>[0]);
const gate =
  (on: readonly string[], off: readonly string[] = []) =>
  (name: string): boolean =>
    on.includes(name) || (usual(name) && !off.includes(name));

let count = 0;
const aPod = (spec: Partial<PodSpec> = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {name: `p${count++}`, namespace: 'default', ...metadata},
  spec: {containers: [{name: 'c', image: 'i:1'}], ...spec},
});
const withContainer = (more: Partial<Container>, spec: Partial<PodSpec> = {}): Pod =>
  aPod({containers: [{name: 'c', image: 'i:1', ...more}], ...spec});
const withInit = (more: Partial<Container>, spec: Partial<PodSpec> = {}): Pod =>
  aPod({initContainers: [{name: 'init', image: 'i:1', ...more}], ...spec});
const withVolume = (volume: object): Pod => aPod({volumes: [{name: 'v', ...volume}]});
const withCertificate = (more: object): Pod =>
  withVolume({projected: {sources: [{podCertificate: {signerName: 'example.com/a', keyType: 'ED25519', keyPath: 'key', ...more}}]}});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
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
const rule = (action: string, count = 1) => ({action, exitCodes: {operator: 'In', values: Array.from({length: count}, (_, i) => i + 1)}});
const spread = (more: object) =>
  aPod({topologySpreadConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...more}]}, {labels: {app: 'a'}});
const fileRef = (more: object, volume?: object): Pod =>
  withContainer(
    {env: [{name: 'A', valueFrom: {fileKeyRef: {volumeName: 'v', path: 'f', key: 'K', ...more}}}]},
    volume ? {volumes: [{name: 'v', ...volume}]} : {},
  );

type Case = readonly [title: string, pod: Pod, expected: readonly string[], on?: readonly string[], off?: readonly string[]];

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
  // Values that are explicitly empty, and values in the wording of the original.
  [
    'an empty earlier lifecycle',
    withInit({lifecycle: {}, livenessProbe: {}}),
    [
      'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
      'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
    ],
  ],
  [
    'a container to look with that has an empty lifecycle',
    aPod({ephemeralContainers: [{name: 'e', image: 'i', lifecycle: {}}]}),
    [
      'spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers: Forbidden: cannot be set on create',
    ],
  ],
  [
    'a rule without an action',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [{} as never]}),
    [
      'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "": supported values: "Restart"',
      'spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified',
    ],
    ['ContainerRestartRules'],
  ],
  [
    'a profile of its own and of a file',
    withContainer({securityContext: {seccompProfile: {type: 'Unconfined', localhostProfile: 'a'}}}),
    [
      'spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"a"}: can only be set when seccomp type is Localhost',
    ],
  ],
  [
    'a claim of nothing',
    aPod({resourceClaims: [{name: 'a'}]}),
    [
      'spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    ],
  ],
  [
    'one path for files of a secret without a name',
    withVolume({
      projected: {
        sources: [
          {
            secret: {
              items: [
                {key: 'a', path: 'p'},
                {key: 'b', path: 'p'},
              ],
            },
          },
        ],
      },
    }),
    [
      'spec.volumes[0].projected.sources[0].secret.name: Required value',
      'spec.volumes[0].projected: Invalid value: "": conflicting duplicate paths',
    ],
  ],
  [
    'a claim that is made with a mark of its own',
    withVolume({
      ephemeral: {
        volumeClaimTemplate: {metadata: {uid: 'u'}, spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1'}}}},
      },
    }),
    ['spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.uID: Forbidden: cannot be set'],
  ],
  [
    'a claim that is made of two sources',
    withVolume({
      ephemeral: {
        volumeClaimTemplate: {
          spec: {
            accessModes: ['ReadWriteOnce'],
            resources: {requests: {storage: '1'}},
            dataSource: {kind: 'PersistentVolumeClaim', name: 'a'},
            dataSourceRef: {kind: 'PersistentVolumeClaim', name: 'b'},
          },
        },
      },
    }),
    ['spec.volumes[0].ephemeral.volumeClaimTemplate.spec: Invalid value: {}: must match dataSourceRef'],
  ],
  // Amounts of the whole.
  [
    'pod resources without those of its containers',
    aPod({resources: {limits: {memory: '1Gi'}}, containers: [{name: 'c', image: 'i:1', resources: {requests: {cpu: '2'}}}]}),
    [],
  ],
  [
    'claims of the whole',
    aPod({resources: {claims: [{name: 'a'}]}}),
    [
      'spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level',
      'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
    ],
  ],
  [
    'amounts of the whole on another system',
    aPod({os: {name: 'windows'}, resources: {limits: {cpu: '1'}}}),
    ['spec.resources: Forbidden: may not be set for a windows pod'],
  ],
  [
    'a device of the whole',
    aPod({resources: {limits: {'example.com/gpu': '1'}}}),
    ['spec.resources.limits[example.com/gpu]: Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory"'],
  ],
  // Spreading.
  [
    'a match label key that is selected as well',
    spread({labelSelector: {matchLabels: {app: 'a'}}, matchLabelKeys: ['app']}),
    ['spec.topologySpreadConstraints[0][0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'],
  ],
  [
    'a key to spread by without a selector',
    spread({matchLabelKeys: ['app']}),
    ['spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set'],
  ],
  [
    'a match label key that is selected, unmerged',
    spread({labelSelector: {matchLabels: {app: 'a'}}, matchLabelKeys: ['app']}),
    ['spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'],
    [],
    ['MatchLabelKeysInPodTopologySpreadSelectorMerge'],
  ],
  // Mirrors.
  [
    'claims, though its node runs it by itself',
    aPod({nodeName: 'n', resourceClaims: [{name: 'a', resourceClaimName: 'b'}]}, {annotations: {'plat.io/config.mirror': 'x'}}),
    ['[]: Forbidden: static pods do not support resource claims'],
  ],
  [
    'gates without a name',
    aPod({schedulingGates: [{name: ''}]}),
    ['spec.schedulingGates[0]: Invalid value: "": name part must be non-empty', `spec.schedulingGates[0]: Invalid value: "": ${name}`],
  ],
  [
    'a server in a form of old, by the strict rules',
    aPod({dnsConfig: {nameservers: ['010.0.0.1']}}),
    ['spec.dnsConfig.nameservers[0]: Invalid value: "010.0.0.1": must not have leading 0s'],
    ['StrictIPCIDRValidation'],
  ],
];

for (const [title, pod, expected, on = [], off = []] of cases) {
  test(`a pod with ${title} is ${expected.length > 0 ? 'refused' : 'let be'}`, async t => {
    const {of} = await startEnvironment({gate: gate(on, off)});

    t.deepEqual(await findings(of(kinds.pods).create(pod)), [...expected]);
  });
}

type Update = readonly [
  title: string,
  pod: Pod,
  status: PodStatus | undefined,
  change: (pod: Pod) => Pod,
  subresource: string,
  expected: readonly string[],
  on?: readonly string[],
  off?: readonly string[],
];

const ended = (name: string, exitCode: number) => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  state: {terminated: {exitCode}},
});
const runs = (name: string) => ({name, image: '', imageID: '', ready: false, restartCount: 1, state: {running: {}}});
const withStatus =
  (status: PodStatus) =>
  (pod: Pod): Pod => ({...pod, status: {...pod.status, ...status}});
const changed =
  (spec: Partial<PodSpec>) =>
  (pod: Pod): Pod => ({...pod, spec: {...pod.spec!, ...spec}});
const mirror = {annotations: {'plat.io/config.mirror': 'x'}};
const sized = (resources: object, more: object = {}) => changed({containers: [{name: 'c', image: 'i:1', resources, ...more}]});
const small = withContainer({resources: {requests: {cpu: '1'}}});
const onlyOne = 'status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state';

const updates: readonly Update[] = [
  [
    'an observed generation without the gate',
    aPod(),
    undefined,
    withStatus({observedGeneration: -1, conditions: [{type: 'a/b/c', status: 'True', observedGeneration: -1}]}),
    'status',
    [
      'status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer',
      `status.conditions[0].Type: Invalid value: "a/b/c": a valid label key ${name.replace('name part ', '')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      'status.observedGeneration: Invalid value: -1: must be a non-negative integer',
    ],
  ],
  [
    'a node that is hoped for while there is one',
    aPod({nodeName: 'n'}),
    undefined,
    withStatus({nominatedNodeName: 'm'}),
    'status',
    ['status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node'],
  ],
  [
    'a restart that its rules allow',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [rule('Restart')]}),
    {containerStatuses: [ended('c', 1)]},
    withStatus({containerStatuses: [runs('c')]}),
    'status',
    [],
  ],
  [
    'a restart that no rule allows',
    withContainer({restartPolicy: 'Never', restartPolicyRules: [rule('Restart')]}),
    {containerStatuses: [ended('c', 2)]},
    withStatus({containerStatuses: [runs('c')]}),
    'status',
    [onlyOne],
  ],
  [
    'a restart of a container it has not',
    aPod(),
    {containerStatuses: [ended('d', 1)]},
    withStatus({containerStatuses: [runs('d')]}),
    'status',
    [onlyOne],
  ],
  [
    'a restart of a container it has not, without the gate',
    aPod(),
    {containerStatuses: [ended('d', 1)]},
    withStatus({containerStatuses: [runs('d')]}),
    'status',
    [],
    [],
    ['ContainerRestartRules'],
  ],
  [
    'a restart of all',
    aPod({
      restartPolicy: 'Never',
      containers: [
        {name: 'c', image: 'i:1'},
        {name: 'd', image: 'i:1', restartPolicy: 'Never', restartPolicyRules: [rule('RestartAllContainers')]},
      ],
    }),
    {containerStatuses: [ended('c', 0)]},
    withStatus({containerStatuses: [runs('c')]}),
    'status',
    [],
    ['RestartAllContainersOnContainerExits'],
  ],
  [
    'two addresses of one family',
    aPod(),
    undefined,
    withStatus({podIP: '1.2.3.4', podIPs: [{ip: '1.2.3.4'}, {ip: '1.2.3.4'}]}),
    'status',
    ['status.podIPs: Invalid value: [{"IP":"1.2.3.4"},{"IP":"1.2.3.4"}]: may specify no more than one IP for each IP family'],
  ],
  [
    'an address that is none',
    aPod(),
    undefined,
    withStatus({podIP: 'x', podIPs: [{ip: 'x'}, {ip: '::1'}]}),
    'status',
    [
      'status.podIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: x',
      'status.podIPs: Invalid value: [{"IP":"x"},{"IP":"::1"}]: may specify no more than one IP for each IP family',
    ],
  ],
  [
    'a user that no system has',
    aPod(),
    undefined,
    withStatus({containerStatuses: [{...runs('c'), user: {linux: {uid: -1, gid: 0}}}]}),
    'status',
    ['status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive'],
  ],
  [
    'a claim that serves nothing',
    aPod(),
    undefined,
    withStatus({
      extendedResourceClaimStatus: {
        resourceClaimName: '',
        requestMappings: [
          {containerName: 'c', resourceName: 'a/b', requestName: 'r'},
          {containerName: 'd', resourceName: 'a/b', requestName: 'R'},
        ],
      },
    }),
    'status',
    [
      'status.extendedResourceClaimStatus.requestMappings[0].resourceName: Invalid value: "a/b": must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests',
      'status.extendedResourceClaimStatus.requestMappings[1].containerName: Invalid value: "d": must match the name of an entry in spec.initContainers.name or spec.containers.name',
      `status.extendedResourceClaimStatus.requestName: Invalid value: "R": ${label}`,
      'status.extendedResourceClaimStatus.resourceClaimName: Required value',
    ],
    ['DRAExtendedResource'],
  ],
  [
    'a container to look with, though its node runs it by itself',
    aPod({nodeName: 'n'}, mirror),
    undefined,
    changed({ephemeralContainers: [{name: 'e', image: 'i'}]}),
    'ephemeralcontainers',
    ['[]: Forbidden: static pods do not support ephemeral containers'],
  ],
  [
    'fields that containers to look with have not',
    aPod(),
    undefined,
    changed({
      ephemeralContainers: [
        {
          name: 'e',
          image: 'i',
          resources: {limits: {cpu: '1'}},
          restartPolicy: 'Always',
          ports: [{containerPort: 1}],
          readinessProbe: {exec: {command: ['x']}},
        },
      ],
    }),
    'ephemeralcontainers',
    [
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].restartPolicy: Forbidden: cannot be set for an Ephemeral Container',
      'spec.ephemeralContainers[0].readinessProbe: Forbidden: cannot be set for an Ephemeral Container',
    ],
  ],
  [
    'another size, though its node runs it by itself',
    {...small, metadata: {...small.metadata, ...mirror, name: 'mirror'}, spec: {...small.spec!, nodeName: 'n'}},
    undefined,
    sized({requests: {cpu: '2'}}),
    'resize',
    ['[]: Forbidden: static pods cannot be resized'],
  ],
  [
    'another size and one container more',
    small,
    undefined,
    changed({
      containers: [
        {name: 'c', image: 'i:1', resources: {requests: {cpu: '2'}}},
        {name: 'd', image: 'i:1'},
      ],
    }),
    'resize',
    ['spec.containers: Forbidden: containers may not be added or removed on resize'],
  ],
  [
    'another size of another container',
    small,
    undefined,
    changed({containers: [{name: 'd', image: 'i:1', resources: {requests: {cpu: '2'}}}]}),
    'resize',
    ['spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize'],
  ],
  [
    'another size of what has claims',
    withContainer({resources: {requests: {cpu: '1'}, claims: [{name: 'a'}]}}, {resourceClaims: [{name: 'a', resourceClaimName: 'b'}]}),
    undefined,
    sized({requests: {cpu: '2'}, claims: [{name: 'a'}]}),
    'resize',
    ['spec: Forbidden: only cpu and memory resources are mutable'],
  ],
  [
    'another size of the whole, without the gate',
    aPod({resources: {requests: {cpu: '1'}}}),
    undefined,
    changed({resources: {requests: {cpu: '2'}}}),
    'resize',
    [
      '[]: Forbidden: resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled',
    ],
  ],
  [
    'another size of the whole',
    aPod({resources: {requests: {cpu: '1'}}}),
    undefined,
    changed({resources: {requests: {cpu: '2'}}}),
    'resize',
    [],
    ['InPlacePodLevelResourcesVerticalScaling'],
  ],
  [
    'no size of the whole any more',
    aPod({resources: {requests: {cpu: '1'}}}),
    undefined,
    ({spec, ...pod}) => ({...pod, spec: {containers: spec!.containers}}),
    'resize',
    [
      'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
      'spec.resources: Forbidden: pod-level resources cannot be removed',
    ],
    ['InPlacePodLevelResourcesVerticalScaling'],
  ],
  [
    'a toleration that makes no sense',
    aPod(),
    undefined,
    changed({tolerations: [{operator: 'Equal'}]}),
    '',
    [
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  ],
];

const affinities = '"NodeAffinity": null,\n+  "PodAffinity": null,\n+  "PodAntiAffinity": null\n+ }';

test('a file that variables are taken from must be there unless it need not be', async t => {
  const {of} = await startEnvironment({gate: gate(['EnvFiles'])});
  const made = await of(kinds.pods).create(fileRef({}, {emptyDir: {}}));

  t.is(made.spec?.containers[0]?.env?.[0]?.valueFrom?.fileKeyRef?.optional, false);
});

test('a pod that is given an empty object is changed, one that is given an empty list is not', async t => {
  const {of} = await startEnvironment({gate: gate([])});
  const made = await of(kinds.pods).create(aPod());
  const [text = ''] = await findings(of(kinds.pods).update(changed({affinity: {}})(made)));

  t.true(text.includes(`- "Affinity": null,\n+ "Affinity": {\n+  ${affinities},\n`), text);
  t.deepEqual(await findings(of(kinds.pods).update(changed({hostAliases: [], nodeSelector: {}})(made))), []);
});

for (const [title, pod, status, change, subresource, expected, on = [], off = []] of updates) {
  test(`a pod that is given ${title} is ${expected.length > 0 ? 'refused' : 'let be'}`, async t => {
    const {of} = await startEnvironment({gate: gate(on, off)});
    const pods = of(kinds.pods);
    const made = await pods.create(pod);
    const stored = status ? await pods.update({...made, status: {...made.status, ...status}}, {subresource: 'status'}) : made;

    t.deepEqual(await findings(pods.update(change(stored), subresource ? {subresource} : {})), [...expected]);
  });
}

const projected = (...sources: object[]) => withVolume({projected: {sources}});

const warnings: readonly (readonly [title: string, pod: Pod, expected: readonly string[]])[] = [
  [
    'labels of nodes that have other names',
    aPod({nodeSelector: {'beta.plat.io/os': 'a', 'node-role.plat.io/master': ''}}),
    [
      'spec.nodeSelector[beta.plat.io/os]: deprecated since v1.14; use "plat.io/os" instead',
      'spec.nodeSelector[node-role.plat.io/master]: use "node-role.plat.io/control-plane" instead',
    ],
  ],
  [
    'values that no node has',
    aPod({
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {weight: 1, preference: {matchExpressions: [{key: 'a', operator: 'In', values: ['-']}]}},
          ],
        },
      },
    }),
    [
      "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values[0]: - is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    ],
  ],
  [
    'a file and a directory of one name',
    withVolume({
      configMap: {
        name: 'm',
        items: [
          {key: 'a', path: 'x/'},
          {key: 'b', path: 'x/y'},
        ],
      },
    }),
    ['volume "v" (ConfigMap "m"): overlapping paths: "x/y" with "x"'],
  ],
  [
    'files of two sources in one place',
    projected(
      {secret: {name: 's', items: [{key: 'a', path: 'd'}]}},
      {clusterTrustBundle: {name: 'b', path: 'd/e'}},
      {downwardAPI: {items: [{path: 'f', fieldRef: {fieldPath: 'metadata.name'}}]}},
    ),
    ['volume "v" (Projected): overlapping paths: "d/e" (ClusterTrustBundle "b") with "d" (Secret "s")'],
  ],
  ['a source that is none', projected({}), ['volume "v" (Projected) has no sources provided']],
  [
    'one name for two ports',
    aPod({
      containers: [
        {name: 'c', image: 'i', ports: [{name: 'a', containerPort: 1}]},
        {name: 'd', image: 'i', ports: [{name: 'a', containerPort: 2}]},
      ],
    }),
    [
      'spec.containers[1].ports[0]: duplicate port name "a" with spec.containers[0].ports[0], services and probes that select ports by name will use spec.containers[0].ports[0]',
    ],
  ],
  [
    'an address of the node without a port of it',
    withContainer({ports: [{containerPort: 1, hostIP: '1.2.3.4'}]}),
    ['spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:1 Protocol:TCP HostIP:1.2.3.4}'],
  ],
  [
    'addresses in forms of old',
    aPod({dnsConfig: {nameservers: ['010.0.0.1']}, hostAliases: [{ip: '::0001'}]}),
    [
      'spec.dnsConfig.nameservers[0]: non-standard IP address "010.0.0.1" will be considered invalid in a future Plat release: use "10.0.0.1"',
      'spec.hostAliases[0].ip: IPv6 address "::0001" should be in RFC 5952 canonical format ("::1")',
    ],
  ],
  [
    'an old annotation of a profile',
    aPod({}, {annotations: {'container.apparmor.security.beta.plat.io/c': 'runtime/default'}}),
    ['metadata.annotations[container.apparmor.security.beta.plat.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead'],
  ],
  [
    'a deprecated annotation equal to the field',
    aPod(
      {securityContext: {appArmorProfile: {type: 'RuntimeDefault'}}},
      {annotations: {'container.apparmor.security.beta.plat.io/c': 'runtime/default'}},
    ),
    [],
  ],
  [
    'an ephemeral claim of half a byte',
    withVolume({
      ephemeral: {
        volumeClaimTemplate: {
          spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1500m'}, limits: {storage: '2500m'}}},
        },
      },
    }),
    [
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
      'spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.limits[storage]: fractional byte value "2500m" is invalid, must be an integer',
    ],
  ],
];

for (const [title, pod, expected] of warnings) {
  test(`a pod with ${title} is ${expected.length > 0 ? 'warned of' : 'let be in silence'}`, async t => {
    const env = await startEnvironment({gate: gate(['ClusterTrustBundleProjection'])});

    t.deepEqual(await warningsOf(env, client => client.resource(kinds.pods).create(pod)), [...expected]);
  });
}

test('addresses of nodes in legacy forms are warned of', async t => {
  const env = await startEnvironment({gate: gate([])});
  const made = await env.of(kinds.pods).create(aPod());

  t.deepEqual(
    await warningsOf(env, client =>
      client.resource(kinds.pods).update(withStatus({hostIP: '010.0.0.1', hostIPs: [{ip: '010.0.0.1'}]})(made), {subresource: 'status'}),
    ),
    ['status.hostIPs[0].ip: non-standard IP address "010.0.0.1" will be considered invalid in a future Plat release: use "10.0.0.1"'],
  );
});

const dropped: readonly (readonly [gate: string, pod: Pod, left: (pod: Pod) => unknown, expected: unknown])[] = [
  [
    'ImageVolume',
    withContainer(
      {volumeMounts: [{name: 'v', mountPath: '/v'}]},
      {
        volumes: [
          {name: 'v', image: {reference: 'a'}},
          {name: 'w', emptyDir: {}},
        ],
      },
    ),
    ({spec}) => [spec?.volumes, spec?.containers[0]?.volumeMounts ?? []],
    [[{name: 'w', emptyDir: {}}], []],
  ],
  ['ContainerRestartRules', withInit({restartPolicy: 'Never'}), ({spec}) => spec?.initContainers?.[0]?.restartPolicy, undefined],
  ['PodLevelResources', aPod({resources: {limits: {cpu: '1'}}}), ({spec}) => spec?.resources, undefined],
];

for (const [off, pod, left, expected] of dropped) {
  test(`fields of ${off} are dropped while it is off`, async t => {
    const {of} = await startEnvironment({gate: gate([], [off])});

    t.deepEqual(left(await of(kinds.pods).create(pod)), expected);
  });
}
