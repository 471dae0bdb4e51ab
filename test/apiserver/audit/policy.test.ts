import test from 'ava';
import {naming} from '#src/api/naming.js';
import {noLog, type Log} from '#src/base/log.js';
import {policyEvaluator, type PolicyRule} from '#src/apiserver/audit/policy.js';
import {readPolicy} from '#src/apiserver/audit/policy-file.js';
import {requestInfo} from '#src/apiserver/request/request-info.js';
import {configMaps} from '#test/apiserver/wire.js';
import {ofStage, startAudited} from './environment.js';

const jane = {name: 'jane', groups: ['devs', 'system:authenticated']};
const pods = '/api/v1/namespaces/ns/pods';

const matching: readonly (readonly [rule: Omit<PolicyRule, 'level'>, matched: readonly string[], others: readonly string[]])[] = [
  [{}, ['GET /healthz', `GET ${pods}`], []],
  [{users: ['jane', 'joe']}, [`GET ${pods}`], []],
  [{users: ['joe']}, [], [`GET ${pods}`]],
  [{userGroups: ['ops', 'devs']}, [`GET ${pods}`], []],
  [{userGroups: ['ops']}, [], [`GET ${pods}`]],
  [{verbs: ['list', 'delete']}, [`GET ${pods}`, `DELETE ${pods}/a`], [`GET ${pods}/a`]],
  [
    {namespaces: ['ns']},
    [`GET ${pods}`, 'GET /api/v1/namespaces/ns'],
    ['GET /api/v1/pods', 'GET /api/v1/namespaces/other/pods', 'GET /api'],
  ],
  [{namespaces: ['']}, ['GET /api/v1/nodes'], [`GET ${pods}`]],
  [{resources: [{}]}, [`GET ${pods}`, `GET ${pods}/a/log`], ['GET /apis/apps/v1/deployments', 'GET /healthz']],
  [{resources: [{group: 'apps'}]}, ['GET /apis/apps/v1/deployments'], [`GET ${pods}`]],
  [{resources: [{resources: ['pods']}]}, [`GET ${pods}`], [`GET ${pods}/a/log`, `PUT ${pods}/a/status`]],
  [{resources: [{resources: ['pods/log']}]}, [`GET ${pods}/a/log`], [`GET ${pods}`, `PUT ${pods}/a/status`]],
  [{resources: [{resources: ['pods/*']}]}, [`GET ${pods}/a/log`, `GET ${pods}`], ['GET /api/v1/nodes/n/status']],
  [{resources: [{resources: ['*/status']}]}, [`PUT ${pods}/a/status`, 'PUT /api/v1/nodes/n/status'], [`GET ${pods}`, `GET ${pods}/a/log`]],
  [{resources: [{resources: ['*']}]}, [`GET ${pods}`, `GET ${pods}/a/log`], ['GET /apis/apps/v1/deployments']],
  [
    {resources: [{resources: ['pods'], resourceNames: ['a']}]},
    [`GET ${pods}/a`, `GET ${pods}?fieldSelector=metadata.name=a`],
    [`GET ${pods}/b`, `GET ${pods}`],
  ],
  [{resources: [{resources: ['pods/proxy']}]}, [`GET ${pods}/a/proxy/x/y`], []],
  [{nonResourceURLs: ['/api*', '/healthz']}, ['GET /api', 'GET /apis', 'GET /healthz'], ['GET /healthz/ping', `GET ${pods}`]],
  [{nonResourceURLs: ['*']}, ['GET /healthz/ping'], [`GET ${pods}`]],
];
for (const [rule, matched, others] of matching)
  test(`a rule with ${JSON.stringify(rule)} matches what it names and nothing else`, t => {
    const evaluate = policyEvaluator({rules: [{level: 'Metadata', ...rule}]});
    const matches = (request: string) => evaluate(jane, requestInfo(...(request.split(' ') as [string, string]))) !== undefined;

    t.deepEqual(
      matched.filter(request => !matches(request)),
      [],
    );
    t.deepEqual(others.filter(matches), []);
  });

test('the first rule that matches decides, and no rule means None', async t => {
  const {get, log} = await startAudited({
    policy: {
      rules: [
        {level: 'None', verbs: ['get']},
        {level: 'Request', verbs: ['get', 'list'], resources: [{}]},
      ],
    },
  });

  await get(configMaps);
  await get(`${configMaps}/a`);
  await get('/healthz');

  t.deepEqual(
    log.events.map(({level, verb}) => [level, verb]),
    [
      ['Request', 'list'],
      ['Request', 'list'],
    ],
  );
});

test('stages are omitted for all requests and by rule', async t => {
  const {get, watch, log} = await startAudited({
    policy: {
      omitStages: ['RequestReceived'],
      rules: [{level: 'Metadata', verbs: ['watch'], omitStages: ['ResponseComplete']}, {level: 'Metadata'}],
    },
  });

  (await watch(`${configMaps}?watch=1`))[Symbol.dispose]();
  await get(configMaps);

  t.deepEqual(
    log.events.map(({verb, stage}) => [verb, stage]),
    [
      ['watch', 'ResponseStarted'],
      ['list', 'ResponseComplete'],
    ],
  );
});

test('a rule may keep the managed fields that the policy omits', async t => {
  const {get, post, log} = await startAudited({
    policy: {
      omitManagedFields: true,
      rules: [{level: 'RequestResponse', verbs: ['list'], omitManagedFields: false}, {level: 'RequestResponse'}],
    },
  });
  await post(configMaps, {metadata: {name: 'a'}, data: {x: '1'}});

  await get(configMaps);

  t.deepEqual(
    ofStage(log).map(({responseObject}) => JSON.stringify(responseObject).includes('managedFields')),
    [false, true],
  );
});

const read = (text: string, log: Log = noLog) => readPolicy(text, {naming: naming('kubernetes'), log});
const policy = (rest: string) => `{kind: Policy, apiVersion: audit.k8s.io/v1, ${rest}}`;
const rule = (rest: string) => policy(`rules: [{level: Metadata, ${rest}}]`);

for (const [what, text, message] of [
  [
    'is no policy',
    '{kind: Other, apiVersion: audit.k8s.io/v1}',
    'failed decoding: no kind "Other" is registered for version "audit.k8s.io/v1": expected Policy of audit.k8s.io/v1',
  ],
  [
    'is of another version',
    '{kind: Policy, apiVersion: audit.k8s.io/v1beta1}',
    'failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1": expected Policy of audit.k8s.io/v1',
  ],
  ['has no kind', '{apiVersion: audit.k8s.io/v1}', 'failed decoding: kind is missing: expected Policy of audit.k8s.io/v1'],
  ['has no rules', policy('rules: []'), 'loaded illegal policy with 0 rules'],
  ['has a rule without level', policy('rules: [{}]'), 'rules[0].level: Required value'],
  [
    'has an unknown level',
    policy('rules: [{level: All}]'),
    'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
  ],
  [
    'omits an unknown stage',
    policy('omitStages: [Never], rules: [{level: None}]'),
    'omitStages[0]: Invalid value: "Never": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ],
  [
    'omits an unknown stage by rule',
    rule('omitStages: [Panic, ""]'),
    'rules[0].omitStages[1]: Invalid value: "": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ],
  [
    'names a path without slash',
    rule('nonResourceURLs: ["*", "api"]'),
    `rules[0].nonResourceURLs[1]: Invalid value: "api": non-resource URL rules must begin with a '/' character`,
  ],
  [
    'has an asterisk within a path',
    rule('nonResourceURLs: ["/a*b"]'),
    `rules[0].nonResourceURLs[0]: Invalid value: "/a*b": non-resource URL wildcards '*' must be the final character of the rule`,
  ],
  [
    'mixes paths and resources',
    rule('nonResourceURLs: ["/a"], namespaces: [x]'),
    'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    'names resources without a list',
    rule('resources: [{resourceNames: [a]}]'),
    'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
  ],
  [
    'has two mistakes',
    policy('rules: [{}, {level: X}]'),
    '[rules[0].level: Required value, rules[1].level: Unsupported value: "X": supported values: "None", "Metadata", "Request", "RequestResponse"]',
  ],
] as const)
  test(`a policy that ${what} is refused`, t => {
    t.throws(() => read(text), {message});
  });

test('a group with a version is refused', t => {
  t.throws(() => read(rule('resources: [{group: rbac.authorization.k8s.io/v1}]')), {
    message:
      /^rules\[0\]\.resources\.group: Invalid value: "rbac\.authorization\.k8s\.io\/v1": a lowercase RFC 1123 subdomain must consist/,
  });
});

test('unknown fields of a policy are ignored with a warning', t => {
  const warned: string[] = [];
  const log: Log = {
    ...noLog,
    warn: (fields: unknown, message?: string) => void warned.push(`${message}: ${(fields as {err: Error}).err.message}`),
  };

  t.is(read(rule('levels: x'), log).rules.length, 1);
  t.deepEqual(warned, [
    'audit policy contains errors, falling back to lenient decoding: strict decoding error: unknown field "rules[0].levels"',
  ]);
});
