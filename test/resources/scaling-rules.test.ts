import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, type Given} from './rule-table.js';
import {startEnvironment} from './environment.js';

const scaleTargetRef = {apiVersion: 'apps/v1', kind: 'Deployment', name: 'd'};
const scaler = (spec: object): Given => ({spec: {scaleTargetRef, maxReplicas: 3, ...spec}});
const measured = (...metrics: object[]): Given => scaler({metrics});
const share = {type: 'Utilization', averageUtilization: 50};
const cpu = {type: 'Resource', resource: {name: 'cpu', target: share}};
const ofObject = (describedObject: object, target: object = {type: 'Value', value: '1'}) => ({
  type: 'Object',
  object: {describedObject, metric: {name: 'm'}, target},
});
const ingress = {apiVersion: 'networking/v1', kind: 'Ingress', name: 'i'};
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const types = '"ContainerResource", "External", "Object", "Pods", "Resource"';
const paths = (prefix: string, texts: readonly string[]): string[] => texts.map(text => `${prefix}${text}`);

testCreations(kinds.horizontalPodAutoscalers, [
  ['a usual one', scaler({}), []],
  [
    'one that never moves',
    scaler({behavior: {scaleUp: {policies: []}}}),
    ['spec.behavior.scaleUp.policies: Required value: must specify at least one Policy'],
  ],
  [
    'one that scales to nothing',
    scaler({minReplicas: 0, metrics: [cpu]}),
    [
      'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
      'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
    ],
  ],
  [
    'one that scales to nothing by what comes from outside',
    scaler({minReplicas: 0, metrics: [{type: 'External', external: {metric: {name: 'm'}, target: {type: 'Value', value: '1'}}}]}),
    [],
    {on: ['HPAScaleToZero']},
  ],
  [
    'one that scales below nothing',
    scaler({minReplicas: -1, maxReplicas: -2}),
    [
      'spec.minReplicas: Invalid value: -1: must be greater than or equal to 1',
      'spec.maxReplicas: Invalid value: -2: must be greater than 0',
      'spec.maxReplicas: Invalid value: -2: must be greater than or equal to `minReplicas`',
    ],
  ],
  [
    'one that scales nothing',
    scaler({scaleTargetRef: {}}),
    [
      'spec.scaleTargetRef.kind: Required value',
      'spec.scaleTargetRef.name: Required value',
      'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group',
    ],
  ],
  [
    'one that scales something of no place',
    scaler({scaleTargetRef: {apiVersion: 'a/b/c', kind: '..', name: 'a/b'}}),
    paths('spec.scaleTargetRef.', [
      'kind: Invalid value: "..": may not be \'..\'',
      'name: Invalid value: "a/b": may not contain \'/\'',
      'apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ]),
  ],
  [
    'one that scales a kind of no group',
    scaler({scaleTargetRef: {apiVersion: 'v1', kind: 'Deployment', name: 'd'}}),
    ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  ],
  ['one that scales a replication controller', scaler({scaleTargetRef: {apiVersion: 'v1', kind: 'ReplicationController', name: 'd'}}), []],
  ['one that looks at a service', measured(ofObject({apiVersion: 'v1', kind: 'Service', name: 's'})), []],
  [
    'one that looks at an object of too many groups',
    measured(ofObject({...ingress, apiVersion: 'a/b/c'})),
    ['spec.metrics[0].object.describedObject.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
  ],
  [
    'one that looks at nothing',
    measured({type: 'Object', object: {describedObject: {}, metric: {}, target: {}}}),
    paths('spec.metrics[0].object.', [
      'describedObject.kind: Required value',
      'describedObject.name: Required value',
      'metric.name: Required value: must specify a metric name',
      'target.type: Required value: must specify a metric target type',
      'target.type: Invalid value: "": must be either Utilization, Value, or AverageValue',
      'target.averageValue: Required value: must set either a target value or averageValue',
    ]),
  ],
  [
    'one that aims for nothing',
    measured(ofObject(ingress, {type: 'Value', value: '0', averageValue: '-1', averageUtilization: 0})),
    paths('spec.metrics[0].object.target.', [
      'value: Invalid value: "0": must be positive',
      'averageValue: Invalid value: "-1": must be positive',
      'averageUtilization: Invalid value: 0: must be greater than 0',
    ]),
  ],
  [
    'one that aims at no kind of thing',
    measured(ofObject(ingress, {type: 'A', value: '1'})),
    ['spec.metrics[0].object.target.type: Invalid value: "A": must be either Utilization, Value, or AverageValue'],
  ],
  [
    'one of pods without an average',
    measured({type: 'Pods', pods: {metric: {name: 'a/b'}, target: {type: 'Value', value: '1'}}}),
    paths('spec.metrics[0].pods.', [
      'metric.name: Invalid value: "a/b": may not contain \'/\'',
      'target.averageValue: Required value: must specify a positive target averageValue',
    ]),
  ],
  [
    'one of what comes from outside with both amounts',
    measured({type: 'External', external: {metric: {name: 'm'}, target: {type: 'Value', value: '1', averageValue: '1'}}}),
    ['spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target'],
  ],
  [
    'one of what comes from outside without an amount',
    measured({type: 'External', external: {metric: {name: 'm'}, target: {type: 'Value'}}}),
    ['spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target'],
  ],
  [
    'one of a resource without a name',
    measured({type: 'Resource', resource: {target: {type: 'Utilization'}}}),
    paths('spec.metrics[0].resource.', [
      'name: Required value: must specify a resource name',
      'target.averageUtilization: Required value: must set either a target raw value or a target utilization',
    ]),
  ],
  [
    'one of a resource with both amounts',
    measured({type: 'Resource', resource: {name: 'cpu', target: {...share, averageValue: '1'}}}),
    ['spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization'],
  ],
  [
    'one of a container without a name',
    measured({type: 'ContainerResource', containerResource: {target: share}}),
    paths('spec.metrics[0].containerResource.', [
      'name: Required value: must specify a resource name',
      'container: Required value: must specify a container',
    ]),
  ],
  [
    'one of a container that has an odd name',
    measured({type: 'ContainerResource', containerResource: {name: 'pods', container: '@', target: share}}),
    paths('spec.metrics[0].containerResource.', [
      'name: Invalid value: "pods": must be a standard resource for containers',
      `container: Invalid value: "@": ${label}`,
    ]),
  ],
  [
    'one of a resource of containers that is none',
    measured({type: 'ContainerResource', containerResource: {name: 'requests.a/b', container: 'c', target: share}}),
    ['spec.metrics[0].containerResource.name: Invalid value: "requests.a/b": doesn\'t follow extended resource name standard'],
  ],
  [
    'one of no kind of metric',
    measured({}, {type: 'A', resource: cpu.resource}),
    [
      'spec.metrics[0].type: Required value: must specify a metric source type',
      `spec.metrics[0].type: Unsupported value: "": supported values: ${types}`,
      `spec.metrics[0].type: Unsupported value: "": supported values: ${types}`,
      `spec.metrics[1].type: Unsupported value: "A": supported values: ${types}`,
      `spec.metrics[1].type: Unsupported value: "A": supported values: ${types}`,
    ],
  ],
  [
    'one of another type than its field',
    measured({...ofObject(ingress), type: 'Resource'}, {...ofObject(ingress), ...cpu}),
    [
      'spec.metrics[0].resource: Required value: must populate information for the given metric source',
      'spec.metrics[1].object: Forbidden: must populate the given metric source only',
    ],
  ],
  [
    'one that behaves as none may',
    scaler({
      behavior: {
        scaleUp: {stabilizationWindowSeconds: -1, selectPolicy: 'A', tolerance: '-1'},
        scaleDown: {
          stabilizationWindowSeconds: 3601,
          policies: [
            {type: 'A', value: 0, periodSeconds: 0},
            {type: 'Pods', value: 1, periodSeconds: 1801},
          ],
        },
      },
    }),
    paths('spec.behavior.', [
      'scaleUp.stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero',
      'scaleUp.selectPolicy: Unsupported value: "A": supported values: "Disabled", "Max", "Min"',
      'scaleUp.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      'scaleDown.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
      'scaleDown.policies[0].type: Unsupported value: "A": supported values: "Percent", "Pods"',
      'scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
      'scaleDown.policies[0].periodSeconds: Invalid value: 0: must be greater than zero',
      'scaleDown.policies[1].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
    ]),
    {on: ['HPAConfigurableTolerance']},
  ],
]);

testCreations(kinds.horizontalPodAutoscalersV1, [
  [
    'a share of nothing',
    scaler({targetCPUUtilizationPercentage: 0}),
    ['spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0'],
  ],
  [
    'an unknown metric type',
    {...scaler({}), metadata: {annotations: {'autoscaling.alpha.plat.io/metrics': '[{"type":"Resource","resource":5},1'}}},
    [],
  ],
  [
    'a metric of another shape',
    {...scaler({}), metadata: {annotations: {'autoscaling.alpha.plat.io/metrics': '[{"type":"Resource","resource":5}]'}}},
    [],
  ],
  [
    'a metric without its parts',
    {...scaler({}), metadata: {annotations: {'autoscaling.alpha.plat.io/metrics': '[{"type":"Object","object":{}}]'}}},
    paths('spec.metrics[0].object.', [
      'describedObject.kind: Required value',
      'describedObject.name: Required value',
      'metric.name: Required value: must specify a metric name',
      'target.value: Invalid value: "0": must be positive',
    ]),
  ],
  [
    'a behaviour without policies',
    {...scaler({}), metadata: {annotations: {'autoscaling.alpha.plat.io/behavior': '{"ScaleUp":{"Policies":[],"Tolerance":0.5}}'}}},
    ['spec.behavior.scaleUp.policies: Required value: must specify at least one Policy'],
  ],
  [
    'a behaviour of another shape',
    {...scaler({}), metadata: {annotations: {'autoscaling.alpha.plat.io/behavior': '{"ScaleUp":{"Policies":7}}'}}},
    [],
  ],
]);

testUpdates(kinds.horizontalPodAutoscalers, [
  [
    'the name of what has an old address',
    scaler({scaleTargetRef: {apiVersion: 'v1', kind: 'ReplicationController', name: 'd'}}),
    scaler({scaleTargetRef: {apiVersion: 'v1', kind: 'ReplicationController', name: 'e'}}),
    [],
  ],
  [
    'a kind of no group',
    scaler({}),
    scaler({scaleTargetRef: {...scaleTargetRef, apiVersion: 'v1'}}),
    ['spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group'],
  ],
  [
    'less than nothing',
    scaler({}),
    {status: {currentReplicas: -1, desiredReplicas: -1}},
    [
      'status.currentReplicas: Invalid value: -1: must be greater than or equal to 0',
      'status.desiredReplicas: Invalid value: -1: must be greater than or equal to 0',
    ],
    {subresource: 'status'},
  ],
]);

const policies = [{type: 'Percent', value: 100, periodSeconds: 15}];
keepsOnCreation(kinds.horizontalPodAutoscalers, [
  [
    'unset fields get defaults',
    scaler({}),
    scaler({minReplicas: 1, metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 80}}}]}),
  ],
  [
    'tolerances are dropped without their feature',
    scaler({metrics: [cpu], behavior: {scaleDown: {tolerance: '0.1'}}}),
    scaler({
      minReplicas: 1,
      metrics: [cpu],
      behavior: {
        scaleUp: {stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [{type: 'Pods', value: 4, periodSeconds: 15}, ...policies]},
        scaleDown: {selectPolicy: 'Max', policies},
      },
    }),
    {off: ['HPAConfigurableTolerance']},
  ],
]);

test('an autoscaler with the fields of the first version alone is the same in both', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.horizontalPodAutoscalersV1).create({
    metadata: {name: 'a', namespace: 'default', annotations: {'autoscaling.alpha.plat.io/scale-up-tolerance': '1'}},
    spec: {scaleTargetRef, maxReplicas: 3},
  });
  t.is(made.metadata?.annotations, undefined);
  t.like(made.spec, {minReplicas: 1, targetCPUUtilizationPercentage: 80});

  t.deepEqual((await of(kinds.horizontalPodAutoscalers).get('a', {namespace: 'default'})).spec?.metrics, [
    {type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 80}}},
  ]);
});

const budget = (spec: object): Given => ({spec});
const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

testCreations(kinds.podDisruptionBudgets, [
  ['an empty one', budget({}), []],
  ['one of a number', budget({minAvailable: 2}), []],
  ['one of more than all', budget({minAvailable: '101%'}), ['spec.minAvailable: Invalid value: "101%": must not be greater than 100%']],
  [
    'one of less than nothing',
    budget({maxUnavailable: -1}),
    ['spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0'],
  ],
  [
    'one of words',
    budget({maxUnavailable: 'all'}),
    [
      "spec.maxUnavailable: Invalid value: \"all\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ],
  ],
  [
    'one of both',
    budget({minAvailable: 1, maxUnavailable: 1}),
    [
      'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ],
  ],
  [
    'one of no known policy',
    budget({unhealthyPodEvictionPolicy: 'Never'}),
    ['spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"'],
  ],
  [
    'one of odd pods',
    budget({selector: {matchLabels: {'a@': 'b'}, matchExpressions: [{key: 'a', operator: 'In', values: []}]}}),
    [
      `spec.selector.matchLabels: Invalid value: "a@": ${name}`,
      "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ],
  ],
]);

testUpdates(kinds.podDisruptionBudgets, [
  ['other pods', budget({minAvailable: 1, selector: {matchLabels: {a: 'b'}}}), budget({minAvailable: '50%', selector: {}}), []],
  [
    'less than nothing',
    budget({}),
    {status: {disruptionsAllowed: -1, currentHealthy: -1, desiredHealthy: -1, expectedPods: -1}},
    paths('status.', [
      'disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0',
      'currentHealthy: Invalid value: -1: must be greater than or equal to 0',
      'desiredHealthy: Invalid value: -1: must be greater than or equal to 0',
      'expectedPods: Invalid value: -1: must be greater than or equal to 0',
    ]),
    {subresource: 'status'},
  ],
]);
