import {kinds} from '#src/api/kinds/index.js';
import {testUpdates, testCreations} from './rule-table.js';

const immutable = 'field is immutable';
const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

// Refusals show an empty list or map as it was given, and null where nothing was.

testCreations(kinds.ingresses, [
  ['an empty list of rules', {spec: {rules: []}}, ['spec: Invalid value: []: either `defaultBackend` or `rules` must be specified']],
  ['no rules', {spec: {}}, ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
]);

testUpdates(kinds.serviceCIDRs, [
  ['an empty list of ranges', {spec: {cidrs: ['10.0.0.0/24']}}, {spec: {cidrs: []}}, [`spec.cidrs: Invalid value: []: ${immutable}`]],
  ['no ranges', {spec: {cidrs: ['10.0.1.0/24']}}, {spec: {}}, [`spec.cidrs: Invalid value: null: ${immutable}`]],
]);

testUpdates(kinds.csiNodes, [
  [
    'empty topology keys',
    {spec: {drivers: [{name: 'd.example', nodeID: 'n', topologyKeys: ['k']}]}},
    {spec: {drivers: [{name: 'd.example', nodeID: 'n', topologyKeys: []}]}},
    [`spec.drivers: Invalid value: {"Name":"d.example","NodeID":"n","TopologyKeys":[],"Allocatable":null}: ${immutable}`],
  ],
  [
    'a finalizer without a domain',
    {spec: {drivers: []}},
    {metadata: {finalizers: ['mine']}},
    [
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
      'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ],
  ],
]);

testUpdates(kinds.resourceQuotas, [
  [
    'an empty scope',
    {spec: {hard: {pods: '1'}}},
    {spec: {hard: {pods: '1'}, scopes: ['']}},
    ['spec.scopes: Invalid value: [""]: unsupported scope', `spec.scopes: Invalid value: [""]: ${immutable}`],
  ],
]);

const claim = {spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}, limits: {storage: '2Gi'}}}};

testUpdates(kinds.persistentVolumeClaims, [
  [
    'empty limits',
    claim,
    {spec: {...claim.spec, resources: {requests: {storage: '1Gi'}, limits: {}}}},
    [
      'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@ -4,9 +4,7 @@\n  ],\n  "Selector": null,\n  "Resources": {\n-  "Limits": {\n-   "storage": "2Gi"\n-  },\n+  "Limits": {},\n   "Requests": {\n    "storage": "1Gi"\n   }\n',
    ],
  ],
]);

const volume = (key: string) => ({
  spec: {
    capacity: {storage: '1Gi'},
    accessModes: ['ReadWriteOnce'],
    hostPath: {path: '/x'},
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key, operator: 'In', values: ['v']}]}]}},
  },
});
const keyPath = 'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key';

testUpdates(kinds.persistentVolumes, [
  [
    'the key of its affinity',
    volume('a'),
    volume('b'),
    [
      'nodeAffinity: Invalid value: {"Required":{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"b","Operator":"In","Values":["v"]}],"MatchFields":null}]}}: field is immutable, except for updating from beta label to GA',
    ],
  ],
  // As in the original, where a label that has no other name counts as renamed to nothing.
  [
    'an empty key of its affinity',
    volume('a'),
    volume(''),
    [0, 1].flatMap(() => [`${keyPath}: Invalid value: "": name part must be non-empty`, `${keyPath}: Invalid value: "": ${key}`]),
  ],
]);

testCreations(kinds.resourceClaimTemplates, [
  ['an empty list of finalizers', {spec: {metadata: {finalizers: []}, spec: {}}}, ['spec.metadata.finalizers: Forbidden: cannot be set']],
  ['labels and annotations', {spec: {metadata: {labels: {}, annotations: {a: 'b'}}, spec: {}}}, []],
]);

testCreations(kinds.statefulSets, [
  [
    'a template with an odd label',
    {
      spec: {
        selector: {matchLabels: {a: 'b'}},
        template: {metadata: {labels: {a: 'b'}, annotations: {'-': 'x'}}, spec: {containers: [{name: 'c', image: 'i'}]}},
      },
    },
    [`spec.template.annotations: Invalid value: "-": ${key}`, `spec.template.annotations: Invalid value: "-": ${key}`],
  ],
]);
