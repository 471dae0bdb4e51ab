import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations, keepsOnCreation, warnsOnCreation, type Given} from './rule-table.js';

const fine = {cpu: '100n', memory: '1'};
const rounded = {cpu: '1m', memory: '1'};
keepsOnCreation(kinds.resourceQuotas, [['amounts finer than a thousandth are rounded up', {spec: {hard: fine}}, {spec: {hard: rounded}}]]);

keepsOnCreation(kinds.limitRanges, [
  [
    'amounts finer than a thousandth are rounded up',
    {spec: {limits: [{type: 'Pod', min: fine, max: fine}]}},
    {spec: {limits: [{type: 'Pod', min: rounded, max: rounded}]}},
  ],
]);

warnsOnCreation(kinds.resourceQuotas, [
  [
    'requests beyond the limits',
    {
      spec: {
        hard: {
          cpu: '2',
          'limits.cpu': '1',
          memory: '1',
          'requests.memory': '3Gi',
          'limits.memory': '1Gi',
          'ephemeral-storage': '2',
          'limits.ephemeral-storage': '1',
        },
      },
    },
    [
      'ResourceQuota cpu (2) should be less than limits.cpu (1)',
      'ResourceQuota requests.memory (3Gi) should be less than limits.memory (1Gi)',
    ],
  ],
]);

testCreations(kinds.resourceQuotas, [
  [
    'a selector that selects nothing',
    {
      spec: {
        hard: {pods: '1', services: '1'},
        scopeSelector: {
          matchExpressions: [
            {scopeName: 'BestEffort', operator: 'In', values: ['a']},
            {scopeName: 'PriorityClass', operator: 'Odd'},
            {scopeName: 'Odd', operator: 'Exists', values: ['a']},
          ],
        },
      },
    },
    [
      'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"In","Values":["a"]},{"ScopeName":"PriorityClass","Operator":"Odd","Values":null},{"ScopeName":"Odd","Operator":"Exists","Values":["a"]}]}: unsupported scope applied to resource',
      'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be \'Exists\' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity',
      'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"In","Values":["a"]},{"ScopeName":"PriorityClass","Operator":"Odd","Values":null},{"ScopeName":"Odd","Operator":"Exists","Values":["a"]}]}: unsupported scope applied to resource',
      'spec.scopeSelector.matchExpressions.operator: Invalid value: "Odd": not a valid selector operator',
      'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Odd": unsupported scope',
      "spec.scopeSelector.matchExpressions.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
    ],
  ],
]);

testUpdates(kinds.resourceQuotas, [
  [
    'other scopes',
    {spec: {scopes: ['BestEffort']}},
    {spec: {scopes: ['Terminating']}},
    ['spec.scopes: Invalid value: ["Terminating"]: field is immutable'],
  ],
  [
    'parts of pods',
    {},
    {status: {hard: {pods: '1'}, used: {pods: '500m'}}},
    ['status.used[pods]: Invalid value: "500m": must be an integer'],
    {subresource: 'status'},
  ],
]);

keepsOnCreation(kinds.limitRanges, [['a list of no limits is none', {spec: {limits: []}}, {spec: {limits: null}}]]);

const limited = (limit: object): Given => ({spec: {limits: [limit]}});
testCreations(kinds.limitRanges, [
  [
    'more than the ratio allows',
    limited({type: 'Pod', min: {cpu: '1'}, max: {cpu: '2'}, maxLimitRequestRatio: {cpu: '3'}}),
    ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000'],
  ],
  ['what the ratio allows', limited({type: 'Pod', min: {cpu: '500m'}, max: {cpu: '5'}, maxLimitRequestRatio: {cpu: '10'}}), []],
  ['a ratio beyond what can be counted', limited({type: 'Pod', min: {cpu: '1'}, max: {cpu: '2'}, maxLimitRequestRatio: {cpu: '1e30'}}), []],
  [
    'a limit beyond what can be counted',
    limited({type: 'Pod', min: {cpu: '1'}, max: {cpu: '1e30'}, maxLimitRequestRatio: {cpu: '2'}}),
    ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": ratio 2 is greater than max/min = 0.000000'],
  ],
  ['two limits of a type', {spec: {limits: [{type: 'Pod'}, {type: 'Pod'}]}}, ['spec.limits[1].type: Duplicate value: "Pod"']],
  [
    'defaults beyond the limits',
    limited({type: 'Container', min: {cpu: '2'}, max: {cpu: '4'}, default: {cpu: '1'}, defaultRequest: {cpu: '5'}}),
    [
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than max value 4',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "5": default request value 5 is greater than default limit value 1',
      'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
    ],
  ],
  [
    'defaults of what cannot be promised twice',
    limited({type: 'Container', default: {'example.com/a': '2'}, defaultRequest: {'example.com/a': '1'}}),
    [
      'spec.limits[0].defaultRequest[example.com/a]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/a',
    ],
  ],
]);
