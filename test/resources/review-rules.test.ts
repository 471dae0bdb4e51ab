import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import type {SelfSubjectAccessReview} from '#src/api/types.js';
import {problems, startEnvironment} from './environment.js';

type Attributes = NonNullable<SelfSubjectAccessReview['spec']['resourceAttributes']>;
type Requirements = NonNullable<NonNullable<Attributes['labelSelector']>['requirements']>;

const fields = 'spec.resourceAttributes.fieldSelector';
const labels = 'spec.resourceAttributes.labelSelector';
const selected = (fieldSelector: Attributes['fieldSelector'], labelSelector?: Attributes['labelSelector']): Attributes => ({
  verb: 'list',
  resource: 'pods',
  ...(fieldSelector ? {fieldSelector} : {}),
  ...(labelSelector ? {labelSelector} : {}),
});
const some = (...requirements: Requirements) => ({requirements});

const refused: readonly (readonly [title: string, attributes: Attributes, expected: readonly string[]])[] = [
  [
    'empty selectors',
    selected({}, {}),
    [
      `${fields}.requirements: Required value: when ${fields} is specified, requirements or rawSelector is required`,
      `${labels}.requirements: Required value: when ${labels} is specified, requirements or rawSelector is required`,
    ],
  ],
  [
    'selectors in both forms',
    selected({rawSelector: 'a=b', ...some({key: 'a', operator: 'In', values: ['b']})}),
    [`${fields}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`],
  ],
  [
    'fields without names',
    selected(some({key: '', operator: 'In', values: []}, {key: 'a', operator: 'Exists', values: ['b']})),
    [
      `${fields}.requirements[0].key: Required value: must be specified`,
      `${fields}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${fields}.requirements[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
    ],
  ],
  [
    'labels without values',
    selected(undefined, some({key: '@', operator: 'In', values: ['@']})),
    [
      `${labels}.requirements[0].key: Invalid value: "@": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      `${labels}.requirements[0].values[0]: Invalid value: "@": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
    ],
  ],
];

for (const [title, resourceAttributes, expected] of refused) {
  test(`a review with ${title} is refused`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.selfSubjectAccessReviews).create({spec: {resourceAttributes}})), [...expected]);
  });
}

const read: readonly (readonly [
  title: string,
  attributes: Attributes,
  requested: {fieldSelector?: string; labelSelector?: string},
  problem?: string,
])[] = [
  [
    'fields of one value',
    selected(some({key: 'a', operator: 'In', values: ['b,c']}, {key: 'd', operator: 'NotIn', values: ['e']})),
    {fieldSelector: 'a=b\\,c,d!=e'},
  ],
  [
    'fields of several values',
    selected(some({key: 'a', operator: 'In', values: ['b']}, {key: 'c', operator: 'In', values: ['d', 'e']})),
    {fieldSelector: 'a=b'},
    `${fields} partially ignored due to parse error`,
  ],
  [
    'fields that are there',
    selected(some({key: 'a', operator: 'Exists'}), some({key: 'a', operator: 'Later'})),
    {},
    `${fields} ignored due to parse error; ${labels} ignored due to parse error`,
  ],
  [
    'labels in every way',
    selected(undefined, some({key: 'a', operator: 'In', values: ['b', 'c']}, {key: 'd', operator: 'DoesNotExist'})),
    {labelSelector: 'a in (b,c),!d'},
  ],
  ['text', selected({rawSelector: 'a=b'}, {rawSelector: 'a in (b'}), {fieldSelector: 'a=b'}, `${labels} ignored due to parse error`],
];

for (const [title, resourceAttributes, requested, problem] of read) {
  test(`a review has ${title}`, async t => {
    const received: unknown[] = [];
    const {of} = await startEnvironment({
      authorizer: {
        authorize({verb, resource}) {
          if (verb === 'list') received.push(resource);
          return {decision: 'allow'};
        },
      },
    });
    const {status} = await of(kinds.selfSubjectAccessReviews).create({spec: {resourceAttributes}});

    t.deepEqual(received, [{group: '', version: '*', resource: 'pods', subresource: '', namespace: '', name: '', ...requested}]);
    t.is(status?.evaluationError, problem);
  });
}

test('an accepted review has managed fields, a refused one has no kind', async t => {
  const {of} = await startEnvironment();
  const {metadata} = await of(kinds.selfSubjectAccessReviews).create({spec: {resourceAttributes: {verb: 'get'}}});
  const refusal = await t.throwsAsync(of(kinds.selfSubjectAccessReviews).create({metadata: {name: 'x'}, spec: {}}), {
    instanceOf: StatusError,
  });

  t.deepEqual(
    metadata?.managedFields?.map(({operation, fieldsV1}) => [operation, fieldsV1]),
    [['Update', {'f:spec': {'f:resourceAttributes': {'.': {}, 'f:verb': {}}}}]] as never,
  );
  t.regex(refusal?.message ?? '', /^\.authorization\.plat\.io "" is invalid: /);
  t.deepEqual(Object.keys(refusal?.status.details ?? {}), ['group', 'causes']);
});

test('a review of tokens is in no namespace, and that of rules comes back bare', async t => {
  const {of} = await startEnvironment();
  const tokens = await of(kinds.tokenReviews).create({metadata: {namespace: 'a'}, spec: {token: 't'}});
  const rules = await of(kinds.selfSubjectRulesReviews).create({metadata: {labels: {a: 'b'}}, spec: {namespace: 'default'}});

  t.deepEqual([tokens.metadata?.namespace, tokens.metadata?.managedFields?.length, rules.metadata], [undefined, 1, {}]);
});
