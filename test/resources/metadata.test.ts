import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';
import {problems, refusal, startEnvironment} from './environment.js';

const namespace = 'default';
const owner = {apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u'};
const key =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const numbered = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({length: count}, (_, index) => [`k-${index}`, '']));

const cases: [title: string, metadata: ObjectMeta, expected: string[]][] = [
  ['a name', {name: ''}, ['metadata.name: Required value: name or generateName is required']],
  ['a name in lower case', {name: 'A'}, [`metadata.name: Invalid value: "A": ${subdomain}`]],
  ['a prefix to generate a name from', {name: 'x', generateName: 'A-'}, [`metadata.generateName: Invalid value: "A-": ${subdomain}`]],
  ['a prefix that may end in a dash', {name: 'x', generateName: 'a-'}, []],
  ['labels with good keys', {labels: {'-': 'a'}}, [`metadata.labels: Invalid value: "-": name part ${key}`]],
  [
    'labels with one prefix',
    {labels: {'a/b/c': ''}},
    [
      `metadata.labels: Invalid value: "a/b/c": a valid label key ${key} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ],
  ],
  ['labels with a prefix that is there', {labels: {'/b': ''}}, ['metadata.labels: Invalid value: "/b": prefix part must be non-empty']],
  ['labels with good values', {labels: {a: '_'}}, [`metadata.labels: Invalid value: "_": ${value}`]],
  [
    'labels with short values',
    {labels: {a: 'x'.repeat(64)}},
    [`metadata.labels: Invalid value: "${'x'.repeat(64)}": must be no more than 63 bytes`],
  ],
  ['labels up to 4096', {labels: numbered(4096)}, []],
  ['no more labels', {labels: numbered(4097)}, ['metadata.labels: Too many: 4097: must have at most 4096 items']],
  [
    'annotations with good keys',
    {annotations: {'': 'x'}},
    ['metadata.annotations: Invalid value: "": name part must be non-empty', `metadata.annotations: Invalid value: "": name part ${key}`],
  ],
  ['annotations whose prefixes may be upper case', {annotations: {'Example.com/x': 'x'}}, []],
  [
    'annotations of 256 KiB at most',
    {annotations: {a: 'x'.repeat(256 * 1024)}},
    ['metadata.annotations: Too long: may not be more than 262144 bytes'],
  ],
  ['annotations of just that size', {annotations: {a: 'x'.repeat(256 * 1024 - 1)}}, []],
  [
    'owners that are complete',
    {ownerReferences: [{apiVersion: 'apps/', kind: '', name: '', uid: ''}]},
    [
      'metadata.ownerReferences.apiVersion: Invalid value: "apps/": version must not be empty',
      'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
      'metadata.ownerReferences.name: Invalid value: "": must not be empty',
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
  ],
  [
    'owners that are no events',
    {ownerReferences: [{...owner, kind: 'Event'}]},
    [
      `metadata.ownerReferences: Invalid value: ${JSON.stringify({...owner, kind: 'Event'})}: /v1, Kind=Event is disallowed from being an owner`,
    ],
  ],
  [
    'one controller',
    {
      ownerReferences: [
        {...owner, controller: true},
        {...owner, uid: 'v', name: 'q', controller: true},
      ],
    },
    [
      `metadata.ownerReferences: Invalid value: ${JSON.stringify([
        {...owner, controller: true},
        {...owner, name: 'q', uid: 'v', controller: true},
      ])}: Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q`,
    ],
  ],
  [
    'owners of one group',
    {ownerReferences: [{...owner, apiVersion: '/a/b'}]},
    ['metadata.ownerReferences.apiVersion: Invalid value: "/a/b": version must not be empty'],
  ],
  [
    'a name that is not too long',
    {name: 'x'.repeat(254)},
    [`metadata.name: Invalid value: "${'x'.repeat(254)}": must be no more than 253 characters`],
  ],
  [
    'labels with prefixes that are not too long',
    {labels: {[`${'x'.repeat(254)}/a`]: ''}},
    [`metadata.labels: Invalid value: "${'x'.repeat(254)}/a": prefix part must be no more than 253 bytes`],
  ],
  [
    'finalizers with a domain',
    {finalizers: ['a/b', 'mine']},
    ['metadata.finalizers[1]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'],
  ],
  ["finalizers of the platform's own", {finalizers: ['orphan', 'plat', 'example.com/x']}, []],
  [
    'one policy for dependents',
    {finalizers: ['orphan', 'foregroundDeletion']},
    ['metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set'],
  ],
];

for (const [title, metadata, expected] of cases) {
  test(`an object has ${title}`, async t => {
    const {of} = await startEnvironment();
    const act = of(kinds.configMaps).create({metadata: {name: 'c', namespace, ...metadata}});

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('no finalizer comes to an object that is going', async t => {
  const {of} = await startEnvironment();
  const maps = of(kinds.configMaps);
  await maps.create({metadata: {name: 'c', namespace, finalizers: ['a.b/held']}});
  await maps.delete('c', {namespace});
  const going = await maps.get('c', {namespace});
  const refused = await refusal(maps.update({...going, metadata: {...going.metadata, finalizers: ['a.b/held', 'a.b/new']}}));

  t.is(
    refused.message,
    'ConfigMap "c" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/new"}',
  );
});

const badLabel = `metadata.labels: Invalid value: "_": ${value}`;
const badOrigin = 'metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified';
const badPrefix = `metadata.generateName: Invalid value: "A": ${subdomain}`;

/**
 * The errors of metadata on update: from the rules for all kinds, the kind's rules for whole objects, and those for
 * changes.
 */
const updates: [title: string, kind: Kind<KubeObject>, given: object, expected: string[]][] = [
  ['as a change alone', kinds.services, {spec: {ports: [{port: 80}]}}, [badLabel, badLabel, badLabel, badOrigin]],
  ['as an object and as a change', kinds.configMaps, {}, [badLabel, badLabel, badPrefix, badLabel, badOrigin, badLabel, badOrigin]],
  ['as an object alone', kinds.limitRanges, {}, [badLabel, badLabel, badPrefix, badLabel, badOrigin]],
  ['by nothing more', kinds.coreEvents, {involvedObject: {namespace}}, [badLabel, badLabel]],
  ['without a word about finalizers', kinds.leases, {}, [badLabel, badLabel, badLabel]],
];

for (const [title, kind, given, expected] of updates) {
  test(`the metadata of ${kind.plural} is validated on update ${title}`, async t => {
    const {of} = await startEnvironment();
    const made = await of(kind).create({metadata: {name: 'c', namespace}, ...given} as KubeObject);

    t.deepEqual(
      await problems(of(kind).update({...made, metadata: {...made.metadata, labels: {a: '_'}, finalizers: ['mine'], generateName: 'A'}})),
      expected,
    );
  });
}

test('names of events and disruption budgets are validated as path segments alone', async t => {
  const {of} = await startEnvironment();

  await t.notThrowsAsync(
    of(kinds.coreEvents).create({metadata: {name: 'A_', namespace, finalizers: ['mine']}, involvedObject: {namespace}}),
  );
  await t.notThrowsAsync(of(kinds.podDisruptionBudgets).create({metadata: {name: 'A_', namespace}}));
  t.deepEqual(await problems(of(kinds.podDisruptionBudgets).create({metadata: {name: '%', namespace}})), [
    `metadata.name: Invalid value: "%": may not contain '%'`,
  ]);
});

test('a namespace in the body of a namespace is cleared', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.namespaces).create({metadata: {name: 'n'}});

  t.is((await of(kinds.namespaces).update({...made, metadata: {...made.metadata, namespace: 'other'}})).metadata?.namespace, undefined);
});
