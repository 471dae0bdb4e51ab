import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {warningsOf} from './warnings.js';
import {startEnvironment} from './environment.js';
import {aPod, gate, withContainer, withInit, withStatus, withVolume} from './pod-variants.js';

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
