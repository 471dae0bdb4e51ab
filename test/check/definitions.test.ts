import test from 'ava';
import {Checks} from './checks.js';

const at = await Checks.start();
test.after.always(() => at[Symbol.asyncDispose]());

interface AVersion {
  readonly name?: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly spec?: string;
}

const aDefinition = (
  plural: string,
  kind: string,
  versions: readonly AVersion[] = [{}],
  scope = 'Namespaced',
) => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${plural}.example.com}
spec:
  group: example.com
  names: {plural: ${plural}, kind: ${kind}}
  scope: ${scope}
  versions:
${versions
  .map(
    ({name = 'v1', served = true, storage = true, spec = 'properties: {a: {type: string}}'}) => `    - name: ${name}
      served: ${served}
      storage: ${storage}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
${spec.replaceAll(/^/gm, '              ')}
`,
  )
  .join('')}`;

const anObject = (kind: string, name: string, spec: string) => `---
apiVersion: example.com/v1
kind: ${kind}
metadata: {name: ${name}}
spec: ${spec}
`;

test('stored objects that fail, live by ratcheting, lose fields or get defaults are told, with the lines of the schema', async t => {
  const before =
    'properties:\n  size: {type: integer}\n  note: {type: string}\n  keep: {type: integer, default: 7}\n  tags: {type: array, items: {type: string}}';
  await at.create(aDefinition('boxes', 'Box', [{spec: before}]));
  await at.create(
    [1, 2, 3, 4, 5, 6].map(each => anObject('Box', `box-${each}`, `{size: ${each}0, note: x, tags: [long, ${'x'.repeat(each)}]}`)).join(''),
  );
  const after = `x-kubernetes-validations: [{rule: self.size < 45}]
properties:
  size: {type: integer}
  keep:
    type: integer
    default: 14
  class: {type: string, default: cold}
  tags:
    type: array
    items:
      type: string
      maxLength: 5`;
  const findings = await at.findings(aDefinition('boxes', 'Box', [{spec: after}]));

  t.deepEqual(
    findings
      .filter(({rule}) => rule.startsWith('stored') || rule === 'definition-default')
      .map(({line, rule, message}) => `${line} ${rule}: ${message}`),
    [
      '16 stored-pruned: v1: 6 of 6 stored Box objects (default/box-1, default/box-2, default/box-3, default/box-4, default/box-5 and 1 more) lose spec.note',
      '16 stored-ratcheted: v1: 1 of 6 stored Box objects (default/box-5) are invalid, and only their unchanged parts are tolerated: spec: Invalid value: failed rule: self.size < 45',
      '21 definition-default: v1: spec.keep is 14 instead of 7 by default; 6 of 6 stored Box objects (default/box-1, default/box-2, default/box-3, default/box-4, default/box-5 and 1 more) have the old default, and keep it where it is stored',
      '24 stored-defaulted: v1: 6 of 6 stored Box objects (default/box-1, default/box-2, default/box-3, default/box-4, default/box-5 and 1 more) get spec.class="cold"',
      '27 stored-ratcheted: v1: 1 of 6 stored Box objects (default/box-6) are invalid, and only their unchanged parts are tolerated: spec.tags[*]: Too long: may not be more than 5 bytes',
    ],
  );
  t.deepEqual(
    findings.filter(({rule}) => rule === 'definition-narrowed').map(({message}) => message),
    [
      'v1: spec has the new rule self.size < 45',
      'v1: spec.note is no longer declared: it is dropped from what is written',
      'v1: spec.tags[*] has the maxLength 5 now',
    ],
  );
});

test('objects whose whole is invalid fail: no update of them would be accepted', async t => {
  await at.create(aDefinition('cups', 'Cup'));
  await at.create(anObject('Cup', 'tea', '{}'));
  const text = aDefinition('cups', 'Cup')
    .replace('          type: object\n', '          type: object\n          required: [size]\n')
    .replace('properties:\n', 'properties:\n            size: {type: string}\n');
  const findings = await at.findings(text);

  t.deepEqual(
    findings.filter(({rule}) => rule === 'stored-invalid').map(({message}) => message),
    ['v1: 1 of 1 stored Cup objects (default/tea) are invalid, and no update of them is accepted: size: Required value'],
  );
});

test('a version that is no longer served or that objects are stored in, and another scope, are errors with lines', async t => {
  await at.create(aDefinition('pens', 'Pen', [{}, {name: 'v2', storage: false}]));

  t.deepEqual(await at.lines(aDefinition('pens', 'Pen', [{name: 'v2'}])), [
    '8 definition-immutable: spec.versions: objects may be stored in v1, which is missing: it has to stay until they are migrated and it is taken out of status.storedVersions',
    '8 definition-version: v1 is no longer served: requests for it are answered with 404',
    '11 definition-version: objects are stored in v2 from now on, and in v1 until each is written again',
  ]);
  t.deepEqual(await at.lines(aDefinition('pens', 'Pen', [{served: false}, {name: 'v2', storage: false}])), [
    '10 definition-version: v1 is no longer served: requests for it are answered with 404',
  ]);
  t.deepEqual(await at.lines(aDefinition('pens', 'Pen', [{}, {name: 'v2', storage: false}], 'Cluster')), [
    '7 definition-immutable: spec.scope: the scope is Namespaced and cannot become Cluster',
  ]);
});

test('objects of the files are checked by the new definition, not by the one in force', async t => {
  await at.create(aDefinition('hats', 'Hat'));
  const now = aDefinition('hats', 'Hat', [{spec: 'properties:\n  size: {type: integer}'}]);

  t.deepEqual(await at.lines(`${now}${anObject('Hat', 'new', '{size: 3, a: b}')}`), [
    '16 definition-narrowed: v1: spec.a is no longer declared: it is dropped from what is written',
    '24 unknown-field: unknown field "spec.a"',
  ]);
});

test('a definition that is new, or the same, has no findings', async t => {
  await at.create(aDefinition('keys', 'Key'));

  t.deepEqual(await at.lines(aDefinition('keys', 'Key')), []);
  t.deepEqual(await at.lines(aDefinition('locks', 'Lock')), []);
});

test('an invalid definition is refused by the server, at the line of its schema', async t => {
  t.deepEqual(
    (await at.findings(aDefinition('keys', 'Key', [{spec: 'properties: {a: {type: strin}}'}])))
      .map(({line, rule}) => `${line} ${rule}`)
      .slice(0, 1),
    ['18 invalid'],
  );
});

const webhook =
  '  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}}';
const converted = (text: string) => text.replace('  versions:', `${webhook}\n  versions:`);

test('where a webhook converts, stored objects are judged only by the version that they are read in', async t => {
  await at.create(aDefinition('quokkas', 'Quokka') + anObject('Quokka', 'one', '{a: long}'));
  const narrow = 'properties: {a: {type: string, maxLength: 2}}';
  const both = converted(aDefinition('quokkas', 'Quokka', [{storage: false}, {name: 'v2', spec: narrow}]));
  const without = converted(
    aDefinition('quokkas', 'Quokka', [
      {served: false, storage: false},
      {name: 'v2', spec: narrow},
    ]),
  );
  const missing = converted(aDefinition('quokkas', 'Quokka', [{name: 'v2', spec: narrow}]));

  const rules = async (text: string) => (await at.findings(text)).map(({rule}) => rule);
  t.false((await rules(both)).includes('stored-invalid'));
  t.false((await rules(without)).includes('stored-invalid'));
  t.true(
    (await at.lines(missing)).some(line =>
      /not-checked: its objects are read in v1, which is missing here, and only its webhook/.test(line),
    ),
    (await at.lines(missing)).join('\n'),
  );
});

test('a definition that may not be read is not compared with the one in force, and says so', async t => {
  await at.create(`${aDefinition('bilbies', 'Bilby')}---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: writes-only}
rules: [{apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [create, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: writes-only}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writes-only}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: writer}]
`);
  const text = aDefinition('bilbies', 'Bilby', [{spec: 'properties: {a: {type: integer}}'}]);

  const lines = await at.lines(text, {user: {name: 'writer', groups: ['system:authenticated']}});

  t.true(
    lines.some(line => line.includes('not-checked: you may not read the definition bilbies.example.com: it was not compared')),
    lines.join('\n'),
  );
  t.false(lines.some(line => line.includes('definition-narrowed')));
});
