import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, warnsOnCreation, type Given} from './rule-table.js';

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const annotated = (annotations: Record<string, string>): Given => ({metadata: {annotations}});
const taints = 'scheduler.alpha.plat.io/taints';
const avoidance = 'scheduler.alpha.plat.io/preferAvoidPods';
const featured = (...declaredFeatures: string[]): Given => ({status: {declaredFeatures}});
const features = {on: ['NodeDeclaredFeatures']};
const ranges = (...podCIDRs: string[]): Given => ({spec: {podCIDRs}});
const featureText = (feature: string) =>
  `invalid feature name "${feature}": must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`;

testCreations(kinds.nodes, [
  [
    'taints of old that are no list',
    annotated({[taints]: '{'}),
    [`metadata.annotations: Invalid value: "${taints}": unexpected end of JSON input`],
  ],
  [
    'taints of old of another kind',
    annotated({[taints]: '{}'}),
    [`metadata.annotations: Invalid value: "${taints}": json: cannot unmarshal object into Go value of type []core.Taint`],
  ],
  [
    'taints of old without a key',
    annotated({[taints]: '[{"effect":"NoSchedule"}]'}),
    [
      `metadata.annotations.${taints}[0].key: Invalid value: "": name part must be non-empty`,
      `metadata.annotations.${taints}[0].key: Invalid value: "": ${name}`,
    ],
  ],
  [
    'pods to avoid of no controller',
    annotated({[avoidance]: '{"preferAvoidPods":[{},{"podSignature":{"podController":{"controller":false}}}]}'}),
    [
      `metadata.annotations.${avoidance}[0].PodSignature: Required value`,
      `metadata.annotations.${avoidance}[1].PodSignature.PodController.Controller: Invalid value: false: must point to a controller`,
    ],
  ],
  ['features in order', featured('A', 'B/c'), [], features],
  [
    'features that are none',
    featured('b', 'A', 'A', 'A/'),
    [
      `status.declaredFeatures[0]: Invalid value: "b": ${featureText('b')}`,
      'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
      'status.declaredFeatures[2]: Duplicate value: "A"',
      `status.declaredFeatures[3]: Invalid value: "A/": ${featureText('A/')}`,
    ],
    features,
  ],
  [
    'a range that is none beside another',
    ranges('10.0.0.0/8', 'x'),
    [
      'spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      'spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:failed to parse cidr value:"x" with error:invalid CIDR address: x',
      'spec.podCIDRs: Invalid value: ["10.0.0.0/8","x"]: may specify no more than one CIDR for each IP family',
    ],
  ],
  [
    'ranges in forms of old',
    ranges('10.0.0.1/8'),
    ['spec.podCIDRs[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length'],
    {on: ['StrictIPCIDRValidation']},
  ],
  [
    'a taint twice',
    {
      spec: {
        taints: [
          {key: 'a', effect: 'NoSchedule'},
          {key: 'a', value: 'b', effect: 'NoSchedule'},
        ],
      },
    },
    [
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
    ],
  ],
  [
    'no room to swap',
    {status: {nodeInfo: {swap: {capacity: 0}}}},
    ['metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero'],
  ],
]);

const twice = 'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
const moved = 'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid';
testUpdates(kinds.nodes, [
  ['a range that is none', {}, ranges('x'), [twice]],
  ['other ranges', ranges('10.0.0.0/8', 'fd00::/64'), ranges('11.0.0.0/8', 'fd01::/64'), [moved, moved]],
  ['fewer ranges', ranges('10.0.0.0/8', 'fd00::/64'), ranges('10.0.0.0/8'), [moved]],
  [
    'duplicate addresses',
    {},
    {
      status: {
        addresses: [
          {type: 'InternalIP', address: '1.1.1.1'},
          {type: 'InternalIP', address: '1.1.1.1'},
        ],
      },
    },
    ['status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.1.1.1"}'],
    {subresource: 'status'},
  ],
  [
    'no known taint',
    {},
    {spec: {taints: [{key: 'a', effect: ''}]}},
    ['metadata.taints[0].effect: Required value', 'metadata.taints[0].effect: Required value'],
  ],
  ['another outer name', {}, {spec: {externalID: 'x'}}, ['spec.externalID: Forbidden: may not be updated']],
]);

warnsOnCreation(kinds.nodes, [
  ['a configuration', {spec: {configSource: {configMap: {name: 'c', namespace: 'n', kubeletConfigKey: 'k'}}}}, []],
  [
    'an outer name',
    {spec: {externalID: 'x', podCIDRs: ['10.0.0.1/8']}},
    [
      'spec.externalID: this field is deprecated, and is unused by Plat',
      'spec.podCIDRs[0]: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
    ],
  ],
]);

const nothingReported = {
  daemonEndpoints: {kubeletEndpoint: {Port: 0}},
  nodeInfo: Object.fromEntries(
    [
      'architecture',
      'bootID',
      'containerRuntimeVersion',
      'kernelVersion',
      'kubeProxyVersion',
      'kubeletVersion',
      'machineID',
      'operatingSystem',
      'osImage',
      'systemUUID',
    ].map(field => [field, '']),
  ),
};

keepsOnCreation(kinds.nodes, [
  [
    'unset times are null',
    {status: {conditions: [{type: 'Ready', status: 'True'}], images: [{sizeBytes: 1}]}},
    {
      status: {
        conditions: [{type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null}],
        images: [{names: null, sizeBytes: 1}],
        ...nothingReported,
      },
    },
  ],
  ['unset reporters are empty', {}, {status: nothingReported}],
  [
    'no configuration is kept',
    {spec: {configSource: {}, unschedulable: true}, status: {config: {}, declaredFeatures: ['A'], phase: 'Running'}},
    {spec: {unschedulable: true}, status: {phase: 'Running', ...nothingReported}},
  ],
]);

keepsOnCreation(kinds.persistentVolumes, [
  [
    'amounts finer than a thousandth are rounded up',
    {spec: {capacity: {storage: '1100u'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/a'}}},
    {
      spec: {
        capacity: {storage: '2m'},
        accessModes: ['ReadWriteOnce'],
        hostPath: {path: '/a', type: ''},
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
      },
    },
  ],
]);

testCreations(kinds.secrets, [
  [
    'settings of a registry that are a list',
    {type: 'plat.io/dockercfg', data: {'.dockercfg': base64('[]')}},
    [
      'data[.dockercfg]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
    ],
  ],
  [
    'settings of a registry that are no JSON',
    {type: 'plat.io/dockerconfigjson', data: {'.dockerconfigjson': base64('{a')}},
    [
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character \'a\' looking for beginning of object key string',
    ],
  ],
]);

const mountable = 'plat.io/enforce-mountable-secrets';
warnsOnCreation(kinds.serviceAccounts, [
  [
    'the mark of mountable secrets, whatever its value',
    annotated({[mountable]: 'no'}),
    [`metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`],
  ],
]);

keepsOnCreation(kinds.persistentVolumes, [
  [
    'no namespace of a secret is null',
    {spec: {capacity: {storage: '1'}, accessModes: ['ReadWriteOnce'], azureFile: {secretName: 's', shareName: 'h'}}},
    {
      spec: {
        capacity: {storage: '1'},
        accessModes: ['ReadWriteOnce'],
        azureFile: {secretName: 's', shareName: 'h', secretNamespace: null},
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
      },
    },
  ],
]);

keepsOnCreation(kinds.coreEvents, [
  [
    'a series without an observation has a null time',
    {involvedObject: {namespace: 'default'}, series: {count: 2}},
    {series: {count: 2, lastObservedTime: null}},
  ],
]);

testCreations(kinds.namespaces, [
  [
    'an odd finalizer',
    {spec: {finalizers: ['odd']}},
    ['spec.finalizers: Invalid value: "odd": name is neither a standard finalizer name nor is it fully qualified'],
  ],
]);

testUpdates(kinds.namespaces, [
  [
    'another phase',
    {},
    {status: {phase: 'Terminating'}},
    ['status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty'],
    {subresource: 'status'},
  ],
]);

testUpdates(kinds.replicationControllers, [
  [
    'counts that do not fit',
    {spec: {replicas: 1, selector: {a: 'b'}, template: {metadata: {labels: {a: 'b'}}, spec: {containers: [{name: 'c', image: 'i'}]}}}},
    {status: {replicas: 1, fullyLabeledReplicas: 2, readyReplicas: 2, availableReplicas: 3, observedGeneration: -1}},
    [
      'status.observedGeneration: Invalid value: -1: must be greater than or equal to 0',
      'status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas',
      'status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas',
    ],
    {subresource: 'status'},
  ],
]);

testCreations(kinds.replicationControllers, [
  [
    'one of nothing',
    {
      spec: {
        replicas: -1,
        minReadySeconds: -1,
        selector: {a: 'b'},
        template: {
          metadata: {labels: {a: 'c'}},
          spec: {restartPolicy: 'Never', activeDeadlineSeconds: 1, containers: [{name: 'C', image: 'i'}]},
        },
      },
    },
    [
      'spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0',
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      'spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`',
      `spec.template.spec.containers[0].name: Invalid value: "C": ${label}`,
      'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
      'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicationController is not Supported',
    ],
  ],
]);
