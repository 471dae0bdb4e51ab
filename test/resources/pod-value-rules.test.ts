import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {findings, startEnvironment} from './environment.js';
import {type Case, aPod, gate, name, withContainer, withInit, withVolume} from './pod-variants.js';

const spread = (more: object) =>
  aPod({topologySpreadConstraints: [{maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', ...more}]}, {labels: {app: 'a'}});

const limiting = (count: number) => {
  const each = Object.fromEntries(Array.from({length: count}, (_, index) => [`example.com/r-${index}`, '1']));
  return withContainer({resources: {limits: each, requests: each}});
};

const valueCases: readonly Case[] = [
  ['ten thousand resources', limiting(5000), []],
  ['more resources', limiting(5001), ['spec.containers: Too many: 10002: must have at most 10000 items']],
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

for (const [title, pod, expected, on = [], off = []] of valueCases) {
  test(`a pod with ${title} is ${expected.length > 0 ? 'refused' : 'let be'}`, async t => {
    const {of} = await startEnvironment({gate: gate(on, off)});

    t.deepEqual(await findings(of(kinds.pods).create(pod)), [...expected]);
  });
}
