import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodSpec, PodStatus} from '#src/api/pod.js';
import {findings, startEnvironment} from './environment.js';
import {aPod, fileRef, gate, label, name, rule, withContainer, withStatus} from './pod-variants.js';

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
