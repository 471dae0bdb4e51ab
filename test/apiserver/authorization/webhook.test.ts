import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {json, startWebhook} from '#test/apiserver/webhook-server.js';
import {aFile, aReviewer, authorizersWith, reviewIn, webhookArgs, type ReviewStatus} from './environment.js';
import {asking, aUser} from './policy.js';

const jane = aUser('jane', 'dev', 'system:authenticated');

test('a webhook receives reviews in v1beta1 by default, with the groups in a field called group', async t => {
  await using webhook = await aReviewer(() => ({allowed: true, reason: 'by rule 7'}));
  using authorizers = await authorizersWith(webhookArgs(webhook));
  const user = {...jane, uid: '7', extra: {'plat.io/scope': ['a', 'b']}};

  const decision = await authorizers.authorize(asking(user, 'get', 'pods/log', {namespace: 'ns', name: 'p'}));

  t.deepEqual(decision, {decision: 'allow', reason: 'by rule 7'});
  const [seen] = webhook.seen;
  t.like(seen, {method: 'POST', url: '/authorize?timeout=30s'});
  t.is(seen!.headers.authorization, 'Bearer letter');
  t.deepEqual(JSON.parse(seen!.body), {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.plat.io/v1beta1',
    metadata: {},
    spec: {
      resourceAttributes: {namespace: 'ns', verb: 'get', version: 'v1', resource: 'pods', subresource: 'log', name: 'p'},
      user: 'jane',
      group: ['dev', 'system:authenticated'],
      extra: {'plat.io/scope': ['a', 'b']},
      uid: '7',
    },
    status: {allowed: false},
  });
});

test('a webhook receives reviews in v1 where the flag says so, in the terms of the naming', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook, '--authorization-webhook-version=v1'), {naming: 'kubernetes'});

  t.like(await authorizers.authorize(asking(jane, 'get', '/metrics')), {decision: 'allow'});
  const {apiVersion, spec} = reviewIn(webhook.seen[0]!);
  t.is(apiVersion, 'authorization.k8s.io/v1');
  t.deepEqual(spec, {nonResourceAttributes: {path: '/metrics', verb: 'get'}, user: 'jane', groups: ['dev', 'system:authenticated']});
});

test('a webhook receives the selectors of a request as requirements', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook));
  const {resource, ...attributes} = asking(jane, 'list', 'pods');

  await authorizers.authorize({
    ...attributes,
    resource: {...resource!, labelSelector: 'app in (a,b),!gone,tier!=x,size>3', fieldSelector: 'spec.nodeName=n,status.phase!=Failed'},
  });

  const {labelSelector, fieldSelector} = reviewIn(webhook.seen[0]!).spec.resourceAttributes!;
  t.deepEqual(labelSelector, {
    requirements: [
      {key: 'app', operator: 'In', values: ['a', 'b']},
      {key: 'gone', operator: 'DoesNotExist'},
      {key: 'tier', operator: 'NotIn', values: ['x']},
    ],
  });
  t.deepEqual(fieldSelector, {
    requirements: [
      {key: 'spec.nodeName', operator: 'In', values: ['n']},
      {key: 'status.phase', operator: 'NotIn', values: ['Failed']},
    ],
  });
});

const decisions: readonly (readonly [ReviewStatus, object])[] = [
  [
    {allowed: false, reason: 'no rule'},
    {decision: 'noOpinion', reason: 'no rule'},
  ],
  [
    {denied: true, reason: 'a rule'},
    {decision: 'deny', reason: 'a rule'},
  ],
  [
    {allowed: true, denied: true},
    {decision: 'deny', error: 'webhook subject access review returned both allow and deny response'},
  ],
];
for (const [status, decision] of decisions) {
  test(`a webhook's status ${JSON.stringify(status)} is its decision`, async t => {
    await using webhook = await aReviewer(() => status);
    using authorizers = await authorizersWith(webhookArgs(webhook));

    t.deepEqual(await authorizers.authorize(asking(jane, 'get', 'pods')), decision as never);
  });
}

test('decisions are cached by what they are, for as long as the flags say', async t => {
  for (const [args, allowedMs, otherMs] of [
    [[], 300_000, 30_000],
    [['--authorization-webhook-cache-authorized-ttl=2m', '--authorization-webhook-cache-unauthorized-ttl=1m'], 120_000, 60_000],
  ] as const) {
    await using webhook = await aReviewer(({spec}) => ({allowed: spec.resourceAttributes!.verb === 'get'}));
    const clock = new VirtualClock();
    using authorizers = await authorizersWith(webhookArgs(webhook, ...args), {clock});
    const ask = async () => {
      for (const verb of ['get', 'delete']) await authorizers.authorize(asking(jane, verb, 'pods'));
      const verbs = webhook.seen.splice(0).map(seen => reviewIn(seen).spec.resourceAttributes!.verb);
      return verbs.join();
    };

    t.is(await ask(), 'get,delete');
    await clock.advance(otherMs - 1);
    t.is(await ask(), '');
    await clock.advance(1);
    t.is(await ask(), 'delete');
    await clock.advance(allowedMs - otherMs);
    t.is(await ask(), 'get,delete');
  }
});

test('a time of 0 disables the cache of a decision', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook, '--authorization-webhook-cache-authorized-ttl=0'));

  for (let i = 0; i < 3; i++) await authorizers.authorize(asking(jane, 'get', 'pods'));
  t.is(webhook.seen.length, 3);
});

test('decisions on attributes of 10 kB and more are not cached', async t => {
  await using webhook = await aReviewer(() => ({allowed: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook));

  for (const name of ['a'.repeat(9990), 'b'.repeat(9991)]) {
    for (let i = 0; i < 2; i++) await authorizers.authorize(asking(jane, 'get', 'pods', {name}));
  }
  t.deepEqual(
    webhook.seen.map(seen => reviewIn(seen).spec.resourceAttributes!.name![0]),
    ['a', 'b', 'b'],
  );
});

test('a webhook that fails is called five times, later and later, and then has no opinion', async t => {
  await using webhook = await startWebhook((_, response) => void response.writeHead(500).end());
  const clock = new VirtualClock();
  using authorizers = await authorizersWith(webhookArgs(webhook), {clock});

  const deciding = authorizers.authorize(asking(jane, 'get', 'pods'));
  await clock.drain();
  const calls = [webhook.seen.length];
  for (const ms of [499, 101, 649, 251, 874, 476, 1211, 814]) {
    await clock.advance(ms);
    calls.push(webhook.seen.length);
  }

  t.deepEqual(calls, [1, 1, 2, 2, 3, 3, 4, 4, 5]);
  t.deepEqual(await deciding, {
    decision: 'noOpinion',
    error: 'an error on the server ("") has prevented the request from succeeding',
  });
  t.is(authorizers.metrics.value('apiserver_authorization_webhook_evaluations_total', {name: 'default', result: 'error'}), 5);
  t.is(authorizers.metrics.value('apiserver_authorization_webhook_evaluations_fail_open_total', {name: 'default', result: 'error'}), 1);
});

test('a webhook that recovers decides, and its failure is not cached', async t => {
  await using webhook = await startWebhook((seen, response) => {
    if (webhook.seen.length === 1) response.writeHead(503, {'Retry-After': '7'}).end();
    else json(response, {...reviewIn(seen), status: {allowed: true}});
  });
  const clock = new VirtualClock();
  using authorizers = await authorizersWith(webhookArgs(webhook), {clock});

  const deciding = authorizers.authorize(asking(jane, 'get', 'pods'));
  await clock.advance(6999);
  t.is(webhook.seen.length, 1);
  await clock.advance(1);

  t.deepEqual(await deciding, {decision: 'allow'});
});

const review = (apiVersion: string, rest: object) => ({kind: 'SubjectAccessReview', apiVersion, ...rest});
const responses: readonly (readonly [string, number, unknown, RegExp])[] = [
  [
    'a refusal',
    403,
    {kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'go away', reason: 'Forbidden', code: 403},
    /^go away$/,
  ],
  ['another kind', 200, {kind: 'Pod', apiVersion: 'v1'}, /^no kind "Pod" is registered for version "v1"/],
  ['another version', 200, review('authorization.plat.io/v1', {status: {allowed: true}}), /unknown conversion$/],
  ['a wrong type', 200, review('authorization.plat.io/v1beta1', {status: {allowed: 'yes'}}), /cannot unmarshal string/],
];
for (const [what, code, body, error] of responses) {
  test(`${what} is no decision, and is not asked for again at once`, async t => {
    await using webhook = await startWebhook((_, response) => json(response, body, code));
    using authorizers = await authorizersWith(webhookArgs(webhook));

    const decision = await authorizers.authorize(asking(jane, 'get', 'pods'));

    t.is(decision.decision, 'noOpinion');
    t.regex(decision.error!, error);
    t.is(webhook.seen.length, 1);
  });
}

test('a webhook that is not there has no opinion, in words that name it', async t => {
  const webhook = await aReviewer(() => ({allowed: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook));
  await webhook.close();

  t.deepEqual(await authorizers.authorize(asking(jane, 'get', 'pods')), {
    decision: 'noOpinion',
    error: `Post "${webhook.url}/authorize?timeout=30s": dial tcp 127.0.0.1:${webhook.port}: connect: connection refused`,
  });
});

test('members of system:masters are allowed before the webhook is asked', async t => {
  await using webhook = await aReviewer(() => ({denied: true}));
  using authorizers = await authorizersWith(webhookArgs(webhook));

  t.deepEqual(await authorizers.authorize(asking(aUser('root', 'system:masters'), 'get', 'pods')), {decision: 'allow'});
  t.is(webhook.seen.length, 0);
});

test('the rules of a user are incomplete with a webhook', async t => {
  await using webhook = await aReviewer(() => ({}));
  using authorizers = await authorizersWith(webhookArgs(webhook));

  t.deepEqual(await authorizers.rulesFor(jane), {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    error: 'webhook authorizer does not support user rule resolution',
  });
});

test('the decisions of every authorizer are counted', async t => {
  await using webhook = await aReviewer(({spec}) => ({allowed: spec.user === 'jane', denied: spec.user === 'eve'}));
  using authorizers = await authorizersWith(webhookArgs(webhook));

  for (const name of ['jane', 'eve', 'eve', 'joe']) await authorizers.authorize(asking(aUser(name), 'get', 'pods'));

  const counted = (decision: string) =>
    authorizers.metrics.value('apiserver_authorization_decisions_total', {type: 'Webhook', name: 'default', decision});
  t.deepEqual([counted('allowed'), counted('denied')], [1, 1 + 1]);
  t.is(authorizers.metrics.value('apiserver_authorization_webhook_duration_seconds', {name: 'default', result: 'success'}), 3);
});

for (const [what, content, error] of [
  ['is missing', undefined, /^--authorization-webhook-config-file \S+: .*no such file or directory$/],
  ['names no server', '{}', /^--authorization-webhook-config-file \S+: no current-context is set$/],
] as const) {
  test(`a webhook's file that ${what} ends the start`, async t => {
    const path = content === undefined ? '/none/webhook' : aFile(content);
    const start = authorizersWith(['--authorization-mode=Webhook', `--authorization-webhook-config-file=${path}`], {clock: systemClock});
    const {message} = (await t.throwsAsync(start))!;

    t.regex(message, error);
  });
}
