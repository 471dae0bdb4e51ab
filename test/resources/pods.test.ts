import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {problems, startEnvironment} from './environment.js';
import {aPod, gate, start, withContainer} from './pods.js';

test('a pod is created pending, with every default and its quality class', async t => {
  const {pods} = await start();
  const made = await pods.create(aPod());

  t.is(made.metadata?.generation, 1);
  t.deepEqual(made.status, {phase: 'Pending', qosClass: 'BestEffort'});
  t.deepEqual(made.spec, {
    containers: [
      {
        name: 'c',
        image: 'nginx',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'Always',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
});

for (const [image, policy] of [
  ['nginx', 'Always'],
  ['nginx:latest', 'Always'],
  ['nginx:1.27', 'IfNotPresent'],
  ['reg.example:5000/a/b', 'Always'],
  ['reg.example:5000/a/b:v1', 'IfNotPresent'],
  [`nginx@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  [`nginx:latest@sha256:${'a'.repeat(64)}`, 'Always'],
] as const) {
  test(`the image ${image.slice(0, 30)} is pulled ${policy}`, async t => {
    const {pods} = await start();
    const made = await pods.create(withContainer({image}));

    t.is(made.spec?.containers[0]?.imagePullPolicy, policy);
  });
}

for (const [name, resources, quality] of [
  ['nothing', {}, 'BestEffort'],
  ['requests', {requests: {cpu: '1'}}, 'Burstable'],
  ['limits of both', {limits: {cpu: '1', memory: '1Gi'}}, 'Guaranteed'],
  ['a limit of one', {limits: {cpu: '1'}}, 'Burstable'],
  ['more limits than requests', {limits: {cpu: '1', memory: '1Gi'}, requests: {cpu: '500m'}}, 'Burstable'],
] as const) {
  test(`a pod with ${name} is ${quality}`, async t => {
    const {pods} = await start();

    t.is((await pods.create(withContainer({resources}))).status?.qosClass, quality);
  });
}

test('limits default requests, and quantities are rounded up to thousandths', async t => {
  const {pods} = await start();
  const made = await pods.create(withContainer({resources: {limits: {cpu: '1500u', memory: '64Mi'}}}));

  t.deepEqual(made.spec?.containers[0]?.resources, {limits: {cpu: '2m', memory: '64Mi'}, requests: {cpu: '2m', memory: '64Mi'}});
});

test('probes, ports, volumes and references get their defaults', async t => {
  const {pods} = await start();
  const made = await pods.create(
    aPod({
      hostNetwork: true,
      serviceAccountName: 'robot',
      containers: [
        {
          name: 'c',
          image: 'nginx:1',
          ports: [{containerPort: 80}],
          livenessProbe: {httpGet: {port: 80}},
          readinessProbe: {grpc: {port: 80}},
          lifecycle: {},
          env: [
            {name: 'NAME', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}},
            {name: 'CPU', valueFrom: {resourceFieldRef: {resource: 'limits.cpu'}}},
          ],
        },
      ],
      volumes: [
        {name: 'bare'},
        {name: 'secret', secret: {secretName: 's'}},
        {name: 'host', hostPath: {path: '/x'}},
        {name: 'all', projected: {sources: [{serviceAccountToken: {path: 'token'}}]}},
        {name: 'none', projected: {} as never},
        {name: 'rbd', rbd: {monitors: ['m'], image: 'i', secretRef: {name: ''}}},
        {name: 'iscsi', iscsi: {targetPortal: 'p', iqn: 'iqn.2001-04.com.example:a', lun: 0}},
        {name: 'azure', azureDisk: {diskName: 'd', diskURI: 'https://blob.core.windows.net/a/b.vhd'}},
        {name: 'scale', scaleIO: {gateway: 'g', system: 's', volumeName: 'v'} as never},
      ],
    }),
  );
  const [container] = made.spec!.containers;

  t.deepEqual(container?.ports, [{containerPort: 80, hostPort: 80, protocol: 'TCP'}]);
  t.deepEqual(container?.livenessProbe, {
    httpGet: {path: '/', port: 80, scheme: 'HTTP'},
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  t.deepEqual(container?.readinessProbe?.grpc, {port: 80, service: ''});
  t.deepEqual(container?.lifecycle, {});
  t.deepEqual(
    container?.env?.map(({valueFrom}) => valueFrom),
    [{fieldRef: {apiVersion: 'v1', fieldPath: 'metadata.name'}}, {resourceFieldRef: {divisor: '0', resource: 'limits.cpu'}}],
  );
  t.is(made.spec?.serviceAccount, 'robot');
  t.deepEqual(made.spec?.volumes, [
    {name: 'bare', emptyDir: {}},
    {name: 'secret', secret: {secretName: 's', defaultMode: 420}},
    {name: 'host', hostPath: {path: '/x', type: ''}},
    {name: 'all', projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: 'token', expirationSeconds: 3600}}]}},
    {name: 'none', projected: {defaultMode: 420, sources: null}},
    {name: 'rbd', rbd: {monitors: ['m'], image: 'i', secretRef: {}, pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring'}},
    {name: 'iscsi', iscsi: {targetPortal: 'p', iqn: 'iqn.2001-04.com.example:a', lun: 0, iscsiInterface: 'default'}},
    {
      name: 'azure',
      azureDisk: {
        diskName: 'd',
        diskURI: 'https://blob.core.windows.net/a/b.vhd',
        cachingMode: 'ReadWrite',
        kind: 'Shared',
        fsType: 'ext4',
        readOnly: false,
      },
    },
    {name: 'scale', scaleIO: {gateway: 'g', system: 's', volumeName: 'v', secretRef: null, storageMode: 'ThinProvisioned', fsType: 'xfs'}},
  ] as never);
});

for (const [image, policy] of [
  ['a', 'Always'],
  ['a:latest', 'Always'],
  ['docker.io/a/b', 'Always'],
  [`${'a'.repeat(247)}`, 'Always'],
  [`${'a'.repeat(248)}`, 'IfNotPresent'],
  [`${'a'.repeat(64)}`, 'IfNotPresent'],
  ['Upper/case', 'Always'],
  ['Upper', 'IfNotPresent'],
  [`a:latest@sha256:${'0'.repeat(64)}`, 'Always'],
  [`a:latest@sha256:${'0'.repeat(32)}`, 'IfNotPresent'],
  [`a@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
] as const) {
  test(`the image ${image.length > 60 ? `${image.slice(0, 30)} of ${image.length}` : image} is pulled ${policy}`, async t => {
    const {pods} = await start();

    t.is((await pods.create(withContainer({image}))).spec?.containers[0]?.imagePullPolicy, policy);
  });
}

test('the grace period of a pod is at least a second, that of a template is kept', async t => {
  const {pods, of} = await start();
  const template = {
    metadata: {name: 't', namespace: 'default'},
    template: {spec: {containers: [{name: 'c', image: 'nginx'}], terminationGracePeriodSeconds: -1}},
  };

  t.is((await pods.create(aPod({terminationGracePeriodSeconds: -1}))).spec?.terminationGracePeriodSeconds, 1);
  t.is((await of(kinds.podTemplates).create(template)).template?.spec?.terminationGracePeriodSeconds, -1);
});

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

test("privileged containers need the server's leave", async t => {
  const env = await startEnvironment({gate, allowPrivileged: false});

  t.deepEqual(await problems(env.of(kinds.pods).create(withContainer({securityContext: {privileged: true}}))), [
    'spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
  ]);
});

test('a gated pod has a condition, may narrow its node affinity, and loses its gates', async t => {
  const {pods, row} = await start();
  const made = await pods.create(aPod({schedulingGates: [{name: 'example.com/wait'}]}));
  t.is(made.status?.conditions?.[0]?.reason, 'SchedulingGated');
  t.is((await row(kinds.pods, made))['Status'], 'SchedulingGated');

  const narrowed = await pods.update({...made, spec: {...made.spec!, nodeSelector: {disk: 'ssd'}}});
  t.is(narrowed.metadata?.generation, 2);
  t.deepEqual(await problems(pods.update({...narrowed, spec: {...narrowed.spec!, nodeSelector: {disk: 'hdd'}}})), [
    'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  ]);
  const {schedulingGates: _, ...free} = narrowed.spec!;
  const freed = await pods.update({...narrowed, spec: free});
  t.is(freed.spec?.schedulingGates, undefined);
});

const rows: readonly (readonly [string, Pod, Record<string, string>])[] = [
  [
    'runs',
    {
      ...aPod(),
      status: {
        phase: 'Running',
        conditions: [{type: 'Ready', status: 'True'}],
        containerStatuses: [
          {
            name: 'c',
            image: '',
            imageID: '',
            ready: true,
            restartCount: 2,
            state: {running: {}},
            lastState: {terminated: {exitCode: 1, finishedAt: '1970-01-01T00:00:00Z'}},
          },
        ],
      },
    },
    {Ready: '1/1', Status: 'Running', Restarts: '2 (56y ago)'},
  ],
  [
    'cannot be started',
    {
      ...aPod(),
      status: {
        phase: 'Pending',
        containerStatuses: [{name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {waiting: {reason: 'ErrImagePull'}}}],
      },
    },
    {Ready: '0/1', Status: 'ErrImagePull', Restarts: '0'},
  ],
  [
    'is being set up',
    {
      ...aPod({
        initContainers: [
          {name: 'i', image: 'a'},
          {name: 'j', image: 'a'},
        ],
      }),
      status: {
        phase: 'Pending',
        initContainerStatuses: [
          {name: 'i', image: '', imageID: '', ready: true, restartCount: 0, state: {terminated: {exitCode: 0}}},
          {name: 'j', image: '', imageID: '', ready: false, restartCount: 0, state: {waiting: {reason: 'PodInitializing'}}},
        ],
      },
    },
    {Ready: '0/1', Status: 'Init:1/2'},
  ],
  ['ends', {...aPod({}, {deletionTimestamp: '2026-01-01T00:00:00Z'}), status: {phase: 'Running'}}, {Status: 'Terminating'}],
  [
    'was killed',
    {
      ...aPod(),
      status: {
        phase: 'Failed',
        containerStatuses: [
          {name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 137, signal: 9}}},
        ],
      },
    },
    {Status: 'Signal:9'},
  ],
  [
    'is done but for a container that failed',
    {
      ...aPod(),
      status: {
        phase: 'Running',
        containerStatuses: [
          {name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 0, reason: 'Completed'}}},
          {name: 'd', image: '', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode: 1, reason: 'Error'}}},
          {name: 'e', image: '', imageID: '', ready: true, restartCount: 0, state: {running: {}}},
        ],
      },
    },
    {Ready: '1/1', Status: 'Error'},
  ],
];

for (const [what, pod, cells] of rows) {
  test(`the row of a pod that ${what} shows it`, async t => {
    const {row} = await start();
    const shown = await row(kinds.pods, pod);

    for (const [name, text] of Object.entries(cells)) if (name !== 'Restarts' || !text.includes('ago')) t.is(shown[name], text);
    t.regex(String(shown['Restarts']), /^\d+( \(\S+ ago\))?$/);
  });
}
