import {rmSync, writeFileSync} from 'node:fs';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {startWebhook} from '#test/apiserver/webhook-server.js';
import {openChain, ReplaceableChain} from '#src/apiserver/authorization/configuration/chain.js';
import {readAuthorization} from '#src/apiserver/authorization/configuration/read.js';
import {aFile, aReviewer, authorizersWith, chainParts, reviewIn, settingsFor, type TestOptions} from './environment.js';
import {asking, aUser} from './policy.js';

const jane = aUser('jane', 'dev', 'system:authenticated');
const pods = asking(jane, 'get', 'pods', {namespace: 'a'});

const configuration = (authorizers: readonly object[], version = 'v1'): string =>
  JSON.stringify({apiVersion: `apiserver.config.plat.io/${version}`, kind: 'AuthorizationConfiguration', authorizers});

const withFile = (path: string, options?: TestOptions, ...args: string[]) =>
  authorizersWith([`--authorization-config=${path}`, ...args], options);
const withConfiguration = (authorizers: readonly object[], options?: TestOptions) => withFile(aFile(configuration(authorizers)), options);

/** A webhook's entry, with what is required. */
const hook = (name: string, kubeConfigFile: string, more: object = {}) => ({
  type: 'Webhook',
  name,
  webhook: {
    timeout: '3s',
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'NoOpinion',
    connectionInfo: {type: 'KubeConfigFile', kubeConfigFile},
    ...more,
  },
});
const matching = (...expressions: string[]) => ({
  matchConditionSubjectAccessReviewVersion: 'v1',
  matchConditions: expressions.map(expression => ({expression})),
});

const deny = {type: 'AlwaysDeny', name: 'alwaysdeny'};
const allow = {type: 'AlwaysAllow', name: 'alwaysallow'};

for (const version of ['v1', 'v1beta1', 'v1alpha1']) {
  test(`several webhooks are asked in the order of a configuration in ${version}`, async t => {
    await using first = await aReviewer(({spec}) => ({denied: spec.user === 'eve', reason: 'first'}));
    await using second = await aReviewer(({spec}) => ({allowed: spec.user === 'jane', reason: 'second'}));
    const hooks = [hook('first', settingsFor(first)), hook('second', settingsFor(second), {subjectAccessReviewVersion: 'v1beta1'})];
    using authorizers = await withFile(aFile(configuration([...hooks, deny], version)));
    const decide = (name: string) => authorizers.authorize(asking(aUser(name), 'get', 'pods'));

    t.deepEqual(await decide('eve'), {decision: 'deny', reason: 'first'});
    t.deepEqual(await decide('jane'), {decision: 'allow', reason: 'second'});
    t.deepEqual(await decide('joe'), {decision: 'noOpinion', reason: 'first\nsecond\nEverything is forbidden.'});
    t.deepEqual([first.seen.length, second.seen.length], [3, 2]);
    t.is(first.seen[0]!.url, '/authorize?timeout=3s');
    t.is(reviewIn(second.seen[0]!).apiVersion, 'authorization.plat.io/v1beta1');
    const counted = (name: string, decision: string) =>
      authorizers.metrics.value('apiserver_authorization_decisions_total', {type: 'Webhook', name, decision});
    t.deepEqual([counted('first', 'denied'), counted('second', 'allowed'), counted('second', 'denied')], [1, 1, undefined]);
  });
}

test('a webhook that fails denies or has no opinion by its failure policy', async t => {
  await using webhook = await startWebhook((_, response) => void response.writeHead(403).end());
  for (const [failurePolicy, decision] of [
    ['Deny', 'deny'],
    ['NoOpinion', 'allow'],
  ] as const) {
    using authorizers = await withConfiguration([hook('a', settingsFor(webhook), {failurePolicy}), allow]);

    t.is((await authorizers.authorize(pods)).decision, decision);
    const open = authorizers.metrics.value('apiserver_authorization_webhook_evaluations_fail_open_total', {name: 'a', result: 'error'});
    t.is(open, decision === 'deny' ? undefined : 1);
  }
});

test('a webhook that does not answer within its timeout fails', async t => {
  await using webhook = await startWebhook(() => {}, {now: Date.UTC(2020, 0, 1)});
  const file = settingsFor(webhook);
  using authorizers = await withConfiguration([hook('a', file, {timeout: '50ms', failurePolicy: 'Deny'})], {clock: systemClock});

  t.deepEqual(await authorizers.authorize(pods), {
    decision: 'deny',
    error: `Post "${webhook.url}/authorize?timeout=50ms": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  });
  t.is(authorizers.metrics.value('apiserver_authorization_webhook_evaluations_total', {name: 'a', result: 'timeout'}), 1);
});

test('a webhook is asked only about requests on which all its conditions hold', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  const conditions = matching(
    'has(request.resourceAttributes) && request.resourceAttributes.namespace == "a"',
    '"dev" in request.groups && request.uid == "" && !("x" in request.extra) && request.resourceAttributes.name == ""',
    '!has(request.resourceAttributes.labelSelector) || request.resourceAttributes.labelSelector.requirements.all(r, r.operator == "In")',
  );
  using authorizers = await withConfiguration([hook('a', settingsFor(webhook), {...conditions, failurePolicy: 'Deny'})]);
  const decide = async (...[attributes]: Parameters<typeof authorizers.authorize>) => (await authorizers.authorize(attributes)).decision;

  t.is(await decide(pods), 'allow');
  t.is(await decide({...pods, resource: {...pods.resource!, labelSelector: 'app=x'}}), 'allow');
  t.is(await decide({...pods, resource: {...pods.resource!, labelSelector: '!app'}}), 'noOpinion');
  t.is(await decide(asking(aUser('joe'), 'get', 'pods', {namespace: 'a'})), 'noOpinion');
  t.is(await decide(asking(jane, 'get', '/version')), 'noOpinion');
  t.is(webhook.seen.length, 2);
  const labels = {type: 'Webhook', name: 'a'};
  t.is(authorizers.metrics.value('apiserver_authorization_match_condition_exclusions_total', labels), 3);
  t.is(authorizers.metrics.value('apiserver_authorization_match_condition_evaluation_seconds', labels), 5);
});

test('a condition that fails counts as a failure, unless another is false', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  const fails = 'request.resourceAttributes.namespace == "a"';
  for (const [failurePolicy, decision] of [
    ['Deny', 'deny'],
    ['NoOpinion', 'noOpinion'],
  ] as const) {
    const conditions = matching(fails, 'request.user != "joe"');
    using authorizers = await withConfiguration([hook('a', settingsFor(webhook), {...conditions, failurePolicy})]);

    t.deepEqual(await authorizers.authorize(asking(jane, 'get', '/x')), {
      decision,
      error: `cel evaluation error: expression '${fails}' resulted in error: no such key: resourceAttributes`,
    });
    t.deepEqual(await authorizers.authorize(asking(aUser('joe'), 'get', '/x')), {decision: 'noOpinion'});
    const labels = {type: 'Webhook', name: 'a'};
    t.is(authorizers.metrics.value('apiserver_authorization_match_condition_evaluation_errors_total', labels), 1);
  }
  t.is(webhook.seen.length, 0);
});

test('a condition that costs too much fails', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  const costly = 'request.groups.all(a, request.groups.all(b, request.groups.all(c, a + b + c != "x")))';
  using authorizers = await withConfiguration([hook('a', settingsFor(webhook), {...matching(costly), failurePolicy: 'Deny'})]);
  const groups = Array.from({length: 300}, (_, i) => `group-${i}`);

  const {decision, error} = await authorizers.authorize(asking(aUser('jane', ...groups), 'get', 'pods'));

  t.is(decision, 'deny');
  t.regex(error!, /cost limit exceeded$/);
});

test('decisions are cached for the times of the configuration, or not at all', async t => {
  await using webhook = await aReviewer(({spec}) => ({allowed: spec.resourceAttributes!.verb === 'get'}));
  for (const [more, minutes, asked] of [
    [{}, 4, 'delete'],
    [{authorizedTTL: '1m', unauthorizedTTL: '10m'}, 4, 'get'],
    [{cacheAuthorizedRequests: false}, 0, 'get'],
    [{cacheUnauthorizedRequests: false}, 0, 'delete'],
  ] as const) {
    const clock = new VirtualClock();
    using authorizers = await withConfiguration([hook('a', settingsFor(webhook), more)], {clock});
    const ask = async () => {
      for (const verb of ['get', 'delete']) await authorizers.authorize(asking(jane, verb, 'pods'));
      return webhook.seen.splice(0).map(seen => reviewIn(seen).spec.resourceAttributes!.verb);
    };

    t.deepEqual(await ask(), ['get', 'delete']);
    await clock.advance(minutes * 60_000);
    t.deepEqual(await ask(), [asked], JSON.stringify(more));
  }
});

const file = aFile('{}');
const wrong: readonly (readonly [readonly object[], string])[] = [
  [[], 'authorizers: Required value: at least one authorization mode must be defined'],
  [[{name: 'a'}], 'authorizers[0].type: Required value'],
  [
    [{type: 'Magic', name: 'a'}],
    'authorizers[0].type: Unsupported value: "Magic": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
  ],
  [[allow, allow], 'authorizers[1].type: Duplicate value: "AlwaysAllow"'],
  [[hook('a', file), hook('a', file)], 'authorizers[1].name: Duplicate value: "a"'],
  [[{type: 'RBAC'}], 'authorizers[0].name: Required value'],
  [[{type: 'RBAC', name: 'mine'}], 'expected name rbac for authorizer RBAC instead of mine'],
  [[{...allow, webhook: {}}], 'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook'],
  [[{type: 'Webhook', name: 'a'}], 'authorizers[0].webhook: Required value: required when type=Webhook'],
  [
    [{type: 'Webhook', name: 'a', webhook: {}}],
    '[authorizers[0].timeout: Required value, authorizers[0].subjectAccessReviewVersion: Required value, authorizers[0].failurePolicy: Required value, authorizers[0].connectionInfo.type: Required value]',
  ],
  [[hook('a', file, {timeout: '31s'})], 'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s'],
  [[hook('a', file, {authorizedTTL: '-1s'})], 'authorizers[0].authorizedTTL: Invalid value: "-1s": must be > 0s'],
  [
    [hook('a', file, {subjectAccessReviewVersion: 'v2'})],
    'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
  ],
  [
    [hook('a', file, {failurePolicy: 'Allow'})],
    'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
  ],
  [
    [hook('a', file, {matchConditions: [{expression: 'true'}]})],
    'authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified',
  ],
  [[hook('a', 'relative')], 'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "relative": must be an absolute path'],
  [[hook('a', '/')], 'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/": must be a regular file'],
  [
    [hook('a', '/none')],
    'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/none": error loading file: stat /none: no such file or directory',
  ],
  [
    [hook('a', file, {connectionInfo: {type: 'InClusterConfig', kubeConfigFile: file}})],
    `authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "${file}": can only be set when type=KubeConfigFile`,
  ],
  [
    [hook('a', file, {connectionInfo: {type: 'InClusterConfig'}})],
    'authorizers[0].connectionInfo.type: Invalid value: "InClusterConfig": not allowed for the API server, which would ask itself',
  ],
  [[hook('a', file, matching(' '))], 'authorizers[0].matchConditions[0].expression: Required value'],
  [[hook('a', file, matching('true', 'true'))], 'authorizers[0].matchConditions[1].expression: Duplicate value: "true"'],
  [
    [hook('a', file, matching('request.user'))],
    'authorizers[0].matchConditions[0].expression: Invalid value: "request.user": must evaluate to bool but got string',
  ],
  [
    [hook('a', file, matching(...Array.from({length: 65}, (_, i) => `request.user != "${i}"`)))],
    'authorizers[0].matchConditions: Too many: 65: must have at most 64 items',
  ],
  [[hook('a', file, {timeout: '3'})], 'failed to load AuthorizationConfiguration from file: time: missing unit in duration "3"'],
  [
    [{...allow, color: 'red'}],
    'failed to load AuthorizationConfiguration from file: strict decoding error: unknown field "authorizers[0].color"',
  ],
];
for (const [authorizers, message] of wrong) {
  test(`a configuration ends the start with: ${message.slice(0, 150)}`, async t => {
    const path = aFile(configuration(authorizers));

    await t.throwsAsync(withFile(path), {message: `--authorization-config: ${path}: ${message}`});
  });
}

test('a condition that does not compile is shown with its problem', async t => {
  const {message} = (await t.throwsAsync(withConfiguration([hook('a', file, matching('request.colour == "red"'))])))!;

  t.regex(
    message,
    /matchConditions\[0\]\.expression: Invalid value: "request\.colour == \\"red\\"": compilation failed: ERROR: .*undefined field 'colour'/s,
  );
});

test('ABAC of a configuration has the policy of its flag', async t => {
  const path = aFile(configuration([{type: 'ABAC', name: 'abac'}]));
  using authorizers = await withFile(path, {}, `--authorization-policy-file=${aFile('{"user":"jane"}')}`);

  t.deepEqual(await authorizers.authorize(pods), {decision: 'allow'});
});

const reloads = 'apiserver_authorization_config_controller_automatic_reloads_total';

test('a configuration that changes is put in force, and one that is not valid leaves the last in force', async t => {
  await using webhook = await aReviewer(() => ({denied: true}));
  const path = aFile(configuration([deny]));
  const clock = new VirtualClock();
  using authorizers = await withFile(path, {clock});
  const {metrics} = authorizers;
  const change = async (content: string | undefined) => {
    if (content === undefined) rmSync(path);
    else writeFileSync(path, content);
    await clock.advance(60_000);
    const {decision} = await authorizers.authorize(pods);
    return [decision, metrics.value(reloads, {status: 'success'}) ?? 0, metrics.value(reloads, {status: 'failure'}) ?? 0];
  };
  const info = async () => /last_config_info\{.*hash="(sha256:\w+)"\} 1/.exec((await metrics.exposition()).body)?.[1];
  const before = await info();

  t.deepEqual(await change(configuration([deny, hook('a', settingsFor(webhook))])), ['deny', 1, 0]);
  const after = await info();
  t.not(before, after);
  const reloadedAt = metrics.value('apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds', {
    status: 'success',
  });
  t.true(reloadedAt! > Date.UTC(2026, 0, 1) / 1000 && reloadedAt! <= clock.now() / 1000, String(reloadedAt));
  t.deepEqual(await change('{}'), ['deny', 1, 1]);
  t.deepEqual(await change(configuration([allow])), ['deny', 1, 2]); // AlwaysDeny must remain.
  t.deepEqual(await change(configuration([deny, {type: 'RBAC', name: 'rbac'}])), ['deny', 1, 3]);
  t.is(await info(), after);
  t.deepEqual(await change(configuration([deny, allow])), ['allow', 2, 3]);
  t.deepEqual(await change(` ${configuration([deny, allow])}`), ['allow', 2, 3]);
  const [decision, , failures] = await change(undefined);
  t.is(decision, 'allow');
  t.true(Number(failures) > 3); // Each look at a file that is gone counts.
});

const aSignal = () => {
  let give = () => {};
  const given = new Promise<void>(resolve => (give = resolve));
  return {given, give};
};

test('a chain that is replaced while a webhook decides lets it finish', async t => {
  const [asked, answered] = [aSignal(), aSignal()];
  await using webhook = await startWebhook(async (seen, response) => {
    asked.give();
    await answered.given;
    response.writeHead(200, {'Content-Type': 'application/json'}).end(JSON.stringify({...reviewIn(seen), status: {allowed: true}}));
  });
  const parts = {...chainParts(), lasting: {}, flag: '--authorization-config'};
  const {authorizers} = await readAuthorization(configuration([hook('a', settingsFor(webhook))]), parts);
  const chain = new ReplaceableChain(await openChain(authorizers, parts));

  const deciding = chain.authorize(pods);
  await asked.given;
  await chain.replace(await openChain([{type: 'AlwaysDeny', name: 'alwaysdeny'}], parts));
  const next = await chain.authorize(pods);
  answered.give();

  t.is(next.decision, 'noOpinion');
  t.deepEqual(await deciding, {decision: 'allow'});
  await chain.close();
});
