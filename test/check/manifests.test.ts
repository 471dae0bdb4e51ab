import test from 'ava';
import {sarifReport} from '#src/check/report/sarif.js';
import {textReport} from '#src/check/report/text.js';
import {aHook, aHookServer} from '#test/apiserver/admission/webhook-environment.js';
import {Checks, kinds} from './checks.js';

const at = await Checks.start();
test.after.always(() => at[Symbol.asyncDispose]());

const situation = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: v1
kind: Namespace
metadata: {name: small}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: compute, namespace: small}
spec: {hard: {requests.cpu: "2", count/configmaps: "3"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owners}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels", message: an owner is missing}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owners}
spec: {policyName: owners, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: shop}}}}
`;
test.before(() => at.create(situation));

const aDeployment = (name: string, {replicas = 1, more = '', namespace = 'small', cpu = '500m'} = {}) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: app
          image: nginx
          resources: {requests: {cpu: ${cpu}}}
${more}`;

test('all invalid and unknown fields of all documents are found, each with its line', async t => {
  const text = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  prots: []
  ports:
    - name: http
      port: 80
    - name: http
      port: 80000
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: UPPER
data:
  a: b
`;
  const findings = await at.findings(text);

  t.deepEqual(
    findings.map(({line, rule, field}) => `${line} ${rule} ${field}`),
    [
      '5 unknown-field spec.prots',
      '9 invalid spec.ports[1].name',
      '9 invalid spec.ports[1].targetPort',
      '10 invalid spec.ports[1].port',
      '15 invalid metadata.name',
    ],
  );
});

test('a text that is no YAML, an object without a name and repeated fields are findings with lines', async t => {
  t.deepEqual(await at.lines('apiVersion: v1\nkind: [\n'), ['2 syntax: yaml: line 2: did not find expected node content']);
  t.deepEqual(await at.lines('apiVersion: v1\nkind: Secret\nmetadata:\n  labels: {a: b}\n'), [
    '3 syntax: metadata.name is missing, or no text',
  ]);
  t.deepEqual(await at.lines('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: "1"\n  b: "2"\n'), [
    '6 repeated-field: the field "b" is there twice: the last one counts',
  ]);
  t.deepEqual(await at.lines('kind: Wombat\napiVersion: a.example.com/v1\nmetadata: {name: a}\n'), [
    '1 unknown-kind: the server knows no Wombat in a.example.com/v1, and these files do not define it',
  ]);
});

test('an object of a list has the line in the list, and one that is there twice is found', async t => {
  const text = `apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
    dat: {}
`;

  t.deepEqual(await at.lines(text), [
    '7 repeated-object: ConfigMap default/a is in these files before: the last one counts',
    '11 unknown-field: unknown field "dat"',
  ]);
});

test('a policy refuses, and other documents are checked all the same', async t => {
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: shop}
`;

  const message = (name: string) =>
    `configmaps "${name}" is forbidden: ValidatingAdmissionPolicy 'owners' with binding 'owners' denied request: an owner is missing`;
  t.deepEqual(await at.lines(text), [`1 policy: ${message('settings')}`, `9 policy: ${message('more')}`]);
});

test('a webhook refuses, in its own words, and is not asked for what it does not select', async t => {
  await using hooks = await aHookServer(() => ({allowed: false, status: {message: 'not on a Monday'}}));
  const hook = aHook(hooks, {objectSelector: {matchLabels: {hooked: 'yes'}}});
  await at
    .client()
    .resource(kinds.validatingWebhookConfigurations)
    .create({metadata: {name: 'mondays'}, webhooks: [hook]});
  await at.plane.clock.drain();
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: hooked, labels: {hooked: "yes"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: free}
`;

  const lines = await at.lines(text);
  await at.client().resource(kinds.validatingWebhookConfigurations).delete('mondays');
  await at.plane.clock.drain();

  t.deepEqual(lines, ['1 webhook: admission webhook "hook.example.com" denied the request: not on a Monday']);
  t.deepEqual(
    hooks.requested.map(({operation, dryRun}) => [operation, dryRun]),
    [['CREATE', true]],
  );
});

test('the pods of a workload are checked against Pod Security at the lines of its template', async t => {
  const findings = await at.findings(aDeployment('web', {namespace: 'shop', more: '      hostNetwork: true\n'}));

  const found = findings.find(({rule}) => rule === 'pod-security');
  t.deepEqual([found?.line, found?.field], [8, 'spec.template']);
  t.regex(found?.message ?? '', /violates PodSecurity "baseline:latest": host namespaces/);
});

test('quotas are compared with the sum of what all files ask for', async t => {
  t.deepEqual(await at.lines(aDeployment('a', {replicas: 2}) + '---' + aDeployment('b', {replicas: 2})), []);
  t.deepEqual(await at.lines(aDeployment('a', {replicas: 2}) + '---' + aDeployment('b', {replicas: 3})), [
    '20 quota: the resource quota compute allows requests.cpu=2: 0 is used, and these files ask for 2500m more (Deployment a 1, Deployment b 1500m)',
  ]);
  const four = [1, 2, 3, 4].map(each => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c${each}, namespace: small}\n`).join('---\n');
  t.deepEqual(
    (await at.findings(four)).map(({rule, line, object}) => [rule, line, object?.name]),
    [['quota', 13, 'c4']],
  );
});

test('a workload that is there is charged with what it adds', async t => {
  await at.create(aDeployment('here', {replicas: 3}));
  t.deepEqual(await at.lines(aDeployment('here', {replicas: 7})), []);
  const [finding] = await at.findings(aDeployment('here', {replicas: 8}));

  t.regex(finding?.message ?? '', /these files ask for 2500m more \(Deployment here 2500m\)/);
});

test('a pod that a quota requires to state more is found at its template', async t => {
  const findings = await at.findings(aDeployment('bare').replace(/ +resources.*\n/, ''));

  t.deepEqual(
    findings.map(({rule, line}) => [rule, line]),
    [['quota', 8]],
  );
  t.regex(findings[0]?.message ?? '', /failed quota: compute: must specify requests.cpu for: app/);
});

test('an object in a namespace of the same files is checked by schema and rules, and says so', async t => {
  const text = `apiVersion: v1
kind: Namespace
metadata: {name: new}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: new}
spec:
  ports: [{port: 80000}]
  typo: 1
`;

  t.deepEqual(await at.lines(text), [
    '5 not-checked: checked by its schema and rules only, not by policies and webhooks, since its namespace is not in the cluster yet',
    '9 invalid: spec.ports[0].port: Invalid value: 80000: must be between 1 and 65535, inclusive',
    '9 invalid: spec.ports[0].targetPort: Invalid value: 80000: must be between 1 and 65535, inclusive',
    '10 unknown-field: unknown field "spec.typo"',
  ]);
});

test('a namespace that is nowhere is found', async t => {
  t.deepEqual(
    (await at.findings('apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: none\n')).map(
      ({rule, line}) => `${line} ${rule}`,
    ),
    ['1 not-checked', '5 namespace'],
  );
});

test('an object of a kind that the same files define is checked by the definition', async t => {
  const text = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wombats.example.com}
spec:
  group: example.com
  names: {plural: wombats, kind: Wombat}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              x-kubernetes-validations: [{rule: self.age < 30, message: wombats are younger}]
              properties: {age: {type: integer}}
---
apiVersion: example.com/v1
kind: Wombat
metadata: {name: old}
spec:
  age: 31
  colour: brown
`;

  t.deepEqual(await at.lines(text), [
    '21 not-checked: checked by its schema and rules only, not by policies and webhooks, since the definition of its kind is not in the cluster yet',
    '24 invalid: spec: Invalid value: wombats are younger',
    '26 unknown-field: unknown field "spec.colour"',
  ]);
});

test('missing rights are found for each object', async t => {
  await at.create(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads}
rules: [{apiGroups: ['*'], resources: ['*'], verbs: [get, list]}, {apiGroups: [''], resources: [configmaps], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: dev}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: there}
`);
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: there}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fresh}
---
apiVersion: v1
kind: Secret
metadata: {name: fresh}
`;

  t.deepEqual(await at.lines(text, {user: {name: 'dev', groups: ['system:authenticated']}}), [
    '1 rights: you may not patch configmaps in the namespace default',
    '9 rights: you may not create secrets in the namespace default',
  ]);
});

test('fields that another manager set are warnings, and unknown fields of objects that are there are found', async t => {
  await at
    .client()
    .resource(kinds.configMaps)
    .create({metadata: {name: 'taken', namespace: 'default'}, data: {a: '1', b: '2'}}, {fieldManager: 'other'});
  const text = `apiVersion: v1
kind: ConfigMap
metadata: {name: taken}
data:
  a: "1"
  b: "3"
`;

  t.deepEqual(await at.lines(text), [
    '6 conflict: data.b: conflict with "other" using v1; a server-side apply needs --force-conflicts to take it over',
  ]);
  t.deepEqual(
    (await at.findings(`${text}datta: {}\n`)).map(({rule, line}) => `${line} ${rule}`),
    ['7 unknown-field'],
  );
});

test('warnings of the server are findings', async t => {
  t.deepEqual(await at.lines('apiVersion: v1\nkind: Endpoints\nmetadata: {name: a}\n'), [
    '1 server-warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  ]);
});

test('nothing is written', async t => {
  await at.findings('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unwritten}\n');

  const {items} = await at.client().resource(kinds.configMaps).list({namespace: 'default', fieldSelector: 'metadata.name=unwritten'});
  t.deepEqual(items, []);
});

test('what a message has for the terminal is escaped in the report', async t => {
  const [line = ''] = textReport(await at.result('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "a\\e[2J"}\n'));

  t.true(line.includes(String.raw`\x1b[2J`), line);
  t.false(line.includes('\u001b'));
});

test('the report has file and line of each finding, a bounded number of lines, and counts', async t => {
  const result = await at.result('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: 1\n');
  t.deepEqual(textReport(result), ['-:4: error: ConfigMap default/a: unknown field "x" [unknown-field]', '', '1 object checked: 1 error']);

  const unknown = [...Array(80).keys()].map(each => `x${each}: 1\n`).join('');
  const many = await at.result(
    ['a', 'b'].map(name => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n${unknown}`).join('---\n'),
  );
  const lines = textReport(many);
  t.deepEqual([lines.length, ...lines.slice(-3)], [103, 'and 60 more', '', '2 objects checked: 160 errors']);
});

test('the SARIF log names its rules, and each result its rule, level, file and line', async t => {
  const result = await at.result('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: 1\n');
  const log = JSON.parse(JSON.stringify(sarifReport(result, 'v1.2.3'))) as {
    version: string;
    runs: {
      tool: {driver: {name: string; semanticVersion: string; rules: {id: string; shortDescription: {text: string}}[]}};
      results: {ruleId: string; ruleIndex: number; level: string; message: {text: string}; locations: object[]}[];
    }[];
  };
  const [run] = log.runs;
  const [first] = run!.results;

  t.deepEqual([log.version, run!.tool.driver.name, run!.tool.driver.semanticVersion], ['2.1.0', 'plat check', '1.2.3']);
  t.is(run!.tool.driver.rules[first!.ruleIndex]?.id, first!.ruleId);
  t.deepEqual(first!.locations, [
    {
      physicalLocation: {artifactLocation: {uri: 'stdin'}, region: {startLine: 4}},
      logicalLocations: [{fullyQualifiedName: 'ConfigMap default/a x', kind: 'object'}],
    },
  ]);
});
