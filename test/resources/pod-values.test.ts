import test from 'ava';
import type {Pod} from '#src/api/pod.js';
import {problems} from './environment.js';
import {aPod, start, withContainer} from './pods.js';

const refused: readonly (readonly [string, Pod, readonly string[]])[] = [
  ['no containers', aPod({containers: []}), ['spec.containers: Required value']],
  [
    'two containers of one name',
    aPod({
      containers: [
        {name: 'c', image: 'a'},
        {name: 'c', image: 'b'},
      ],
    }),
    ['spec.containers[1].name: Duplicate value: "c"'],
  ],
  ['no image', withContainer({image: ''}), ['spec.containers[0].image: Required value']],
  [
    'a padded image',
    withContainer({image: ' nginx:1'}),
    ['spec.containers[0].image: Invalid value: " nginx:1": must not have leading or trailing whitespace'],
  ],
  [
    'an unknown restart policy',
    aPod({restartPolicy: 'Sometimes'}),
    ['spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
  ],
  [
    'a mount of nothing',
    withContainer({volumeMounts: [{name: 'v', mountPath: '/a'}]}),
    ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  ],
  [
    'a request over the limit',
    withContainer({resources: {requests: {cpu: '2'}, limits: {cpu: '1'}}}),
    ['spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
  ],
  [
    'an unknown resource',
    withContainer({resources: {requests: {gold: '1'}}}),
    [
      'spec.containers[0].resources.requests[gold]: Invalid value: "gold": must be a standard resource type or fully qualified',
      'spec.containers[0].resources.requests[gold]: Invalid value: "gold": must be a standard resource for containers',
    ],
  ],
  [
    'a fraction of a device',
    withContainer({resources: {limits: {'example.com/gpu': '1500m'}}}),
    [
      'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
      'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
    ],
  ],
  [
    'a device without a limit',
    withContainer({resources: {requests: {'example.com/gpu': '1'}}}),
    ['spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources'],
  ],
  [
    'huge pages alone',
    withContainer({resources: {limits: {'hugepages-2Mi': '4Mi'}}}),
    ['spec.containers[0].resources: Forbidden: HugePages require cpu or memory'],
  ],
  [
    'a probe with two handlers',
    withContainer({readinessProbe: {exec: {command: ['x']}, tcpSocket: {port: 1}}}),
    ['spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type'],
  ],
  [
    'a liveness probe that must succeed twice',
    withContainer({livenessProbe: {exec: {command: ['x']}, successThreshold: 2}}),
    ['spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
  ],
  [
    'an init container with a probe',
    aPod({initContainers: [{name: 'i', image: 'a', livenessProbe: {exec: {command: ['x']}}}]}),
    ['spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always'],
  ],
  [
    'restart rules without a policy',
    withContainer({restartPolicyRules: [{action: 'Restart', exitCodes: {operator: 'In', values: [3]}}]}),
    ['spec.containers[0].restartPolicy: Required value: must specify restartPolicy when restart rules are used'],
  ],
  [
    'an environment variable from two places',
    withContainer({env: [{name: 'A', value: 'x', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}}]}),
    ['spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
  ],
  [
    'a field that is none',
    withContainer({env: [{name: 'A', valueFrom: {fieldRef: {fieldPath: 'spec.nothing'}}}]}),
    [
      'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.nothing": error converting fieldPath: field label not supported: spec.nothing',
    ],
  ],
  [
    'a volume of two types',
    aPod({volumes: [{name: 'v', emptyDir: {}, hostPath: {path: '/x'}}]}),
    ['spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
  ],
  [
    'a path that leads out',
    aPod({volumes: [{name: 'v', configMap: {name: 'm', items: [{key: 'k', path: '../x'}]}}]}),
    ['spec.volumes[0].configMap.items[0].path: Invalid value: "../x": must not contain \'..\''],
  ],
  [
    'a token without an account',
    aPod({volumes: [{name: 'v', projected: {sources: [{serviceAccountToken: {path: 't'}}]}}]}),
    ['spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set'],
  ],
  [
    'a toleration that waits for nothing',
    aPod({tolerations: [{key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 1}]}),
    ['spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set'],
  ],
  [
    'an empty choice of nodes',
    aPod({affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}}),
    [
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term',
    ],
  ],
  [
    'an affinity without topology',
    aPod({affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: '', labelSelector: {}}]}}}),
    [
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Required value: can not be empty',
      'spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must be non-empty',
      `spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ],
  [
    'a spread twice',
    aPod({
      topologySpreadConstraints: [
        {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}},
        {maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}},
      ],
    }),
    ['spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"'],
  ],
  ['no name server', aPod({dnsPolicy: 'None'}), ['spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
  [
    'an alias of no address',
    aPod({hostAliases: [{ip: 'x', hostnames: ['a']}]}),
    ['spec.hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
  ],
  [
    'an ephemeral container',
    aPod({ephemeralContainers: [{name: 'e', image: 'a'}]}),
    ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
  ],
  [
    'a node and a gate',
    aPod({nodeName: 'n', schedulingGates: [{name: 'example.com/wait'}]}),
    ['spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
  ],
  [
    'privilege that must not grow',
    withContainer({securityContext: {privileged: true, allowPrivilegeEscalation: false}}),
    [
      'spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ],
  ],
  [
    "an own network of users with the node's network",
    aPod({hostUsers: false, hostNetwork: true}),
    ['spec.hostNetwork: Forbidden: when `hostUsers` is false'],
  ],
  ['a system that is none', aPod({os: {name: 'plan9'}}), ['spec.os: Unsupported value: "plan9": supported values: "linux", "windows"']],
  [
    'a whole that is less than its parts',
    aPod({resources: {requests: {cpu: '1'}, limits: {cpu: '2'}}, containers: [{name: 'c', image: 'a', resources: {requests: {cpu: '2'}}}]}),
    ['spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2'],
  ],
  [
    'a deletion cost that is no number',
    aPod({}, {annotations: {'controller.plat.io/pod-deletion-cost': 'x'}}),
    ['metadata.annotations[controller.plat.io/pod-deletion-cost]: Invalid value: "x": must be a 32bit integer'],
  ],
];

for (const [what, pod, expected] of refused) {
  test(`a pod with ${what} is refused`, async t => {
    const {pods} = await start();

    t.deepEqual(await problems(pods.create(pod)), [...expected]);
  });
}
