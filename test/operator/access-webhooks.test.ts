import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {
  authenticating,
  authorizing,
  createClient,
  createManager,
  validating,
  webhookKubeconfig,
  type AuthorizationRequest,
} from '#src/operator/index.js';
import {ConfigMap, Secret} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {startServer} from '#test/fixtures/server.js';
import {Backup, serve} from './webhooks-port.js';

test('an API server authenticates and authorizes by webhooks that a manager serves', async t => {
  const asked: Omit<AuthorizationRequest, 'signal'>[] = [];
  const authentication = authenticating(({token}) =>
    token === 'let-me-in' ? {username: 'alice', uid: '7', groups: ['readers'], extra: {team: ['a']}} : undefined,
  );
  const authorization = authorizing(({user, resource, path}) => {
    if (user.username !== 'alice') return;
    asked.push({user, resource, path});
    if (resource?.resource === 'secrets') return {allowed: false, denied: true, reason: 'secrets are for keepers'};
    return resource?.verb === 'delete' ? {allowed: false} : {allowed: true, reason: 'alice may'};
  });
  const {clientOf} = startServer({clock: new VirtualClock()});
  const stop = new AbortController();
  const client = clientOf();
  const certificate = {secret: 'hooks', namespace: 'default'};
  const webhooks = {handlers: [authentication, authorization], certificate, bindAddress: '127.0.0.1', port: 0};
  const manager = createManager({controllers: [], client, random: seededRandom(1), log: noLog, webhooks});
  const ended = manager.run(stop.signal);
  const url = `https://127.0.0.1:${await manager.webhookPort}`;
  const certificateAuthority = Buffer.from((await client.resource(Secret).get('hooks', certificate)).data!['ca.crt']!, 'base64').toString();
  const folder = mkdtempSync(join(tmpdir(), 'access-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const plane = await startPlane({
    controllerManagerArgs: ['--controllers=namespace-controller'],
    apiserverArgs: [
      `--authentication-token-webhook-config-file=${file('tokens', webhookKubeconfig(authentication, {url, certificateAuthority}))}`,
      '--authentication-token-webhook-version=v1',
      `--authorization-webhook-config-file=${file('access', webhookKubeconfig(authorization, {url: `${url}/`, certificateAuthority}))}`,
      '--authorization-webhook-version=v1',
      '--authorization-mode=RBAC,Webhook',
    ],
  });
  t.teardown(async () => {
    await plane.stop();
    stop.abort();
    await ended;
    rmSync(folder, {recursive: true});
  });
  const as = async (token: string) => {
    const {clusters} = (await import('yaml')).parse(plane.kubeconfig) as {clusters: object[]};
    const context = {name: 'a', context: {cluster: 'plat', user: 'a'}};
    return createClient({kubeconfig: {clusters, users: [{name: 'a', user: {token}}], contexts: [context], 'current-context': 'a'}});
  };

  await using alice = await as('let-me-in');
  await t.throwsAsync(alice.resource(ConfigMap).get('a', {namespace: 'none'}), {message: 'configmaps "a" not found'});
  t.deepEqual(asked.at(-1), {
    user: {username: 'alice', uid: '7', groups: ['readers', 'system:authenticated'], extra: {team: ['a']}},
    path: undefined,
    resource: {verb: 'get', group: '', version: 'v1', resource: 'configmaps', subresource: '', namespace: 'none', name: 'a'},
  });
  await t.throwsAsync(alice.resource(Secret).list(), {message: /secrets is forbidden: User "alice" .*: secrets are for keepers/});
  await t.throwsAsync(alice.resource(ConfigMap).delete('a', {namespace: 'default'}), {message: /User "alice" cannot delete/});
  await alice.resource(ConfigMap).list({labelSelector: 'a in (b)', namespace: 'kube-system'});
  t.deepEqual(asked.at(-1)!.resource!.labelSelector, {requirements: [{key: 'a', operator: 'In', values: ['b']}]});
  await alice.request('GET', '/metrics');
  t.deepEqual([asked.at(-1)!.resource, asked.at(-1)!.path], [undefined, {path: '/metrics', verb: 'get'}]);
  await t.throwsAsync(as('unknown'), {message: 'Unauthorized'});
});

test('a review is answered in its version, and a handler that fails tells nothing', async t => {
  const audiences: unknown[] = [];
  const {send, lines, manager} = await serve(t, [
    authenticating(request => {
      audiences.push(request.audiences);
      if (request.token === 'bad') throw new Error('password=secret');
      return {username: 'bob', audiences: ['api']};
    }),
    authorizing(({user}) => {
      if (user.username === 'eve') throw new Error('password=secret');
      return user.groups.includes('old') ? {allowed: true} : undefined;
    }),
  ]);
  const ask = async (path: string, body: object) => {
    const {status, text} = await send(path, JSON.stringify(body));
    return status === 200 ? (JSON.parse(text) as {status: object}) : status;
  };
  const token = (spec: object, version = 'v1') => ({apiVersion: `authentication.k8s.io/${version}`, kind: 'TokenReview', spec});
  const access = (spec: object, version = 'v1') => ({apiVersion: `authorization.k8s.io/${version}`, kind: 'SubjectAccessReview', spec});
  const path = {path: '/a', verb: 'get'};

  t.deepEqual(await ask('/authenticate', token({token: 'a', audiences: ['api', 'other']})), {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    status: {authenticated: true, user: {username: 'bob'}, audiences: ['api']},
  });
  t.like(await ask('/authenticate', token({token: 'a'}, 'v1beta1')), {apiVersion: 'authentication.k8s.io/v1beta1'});
  t.deepEqual(audiences, [['api', 'other'], []]);
  const told = 'the webhook failed on this request: see the log of the operator';
  t.like(await ask('/authenticate', token({token: 'bad'})), {status: {authenticated: false, error: told}});
  t.like(await ask('/authorize', access({user: 'eve', nonResourceAttributes: path})), {status: {allowed: false, evaluationError: told}});
  t.deepEqual(await ask('/authorize', access({user: 'bob', group: ['old'], nonResourceAttributes: path}, 'v1beta1')), {
    apiVersion: 'authorization.k8s.io/v1beta1',
    kind: 'SubjectAccessReview',
    status: {allowed: true},
  });
  t.like(await ask('/authorize', access({user: 'bob', nonResourceAttributes: path})), {status: {allowed: false}});
  t.is(await ask('/authenticate', access({user: 'bob', nonResourceAttributes: path})), 400);
  t.is(await ask('/authenticate', token({})), 400);
  t.is(await ask('/authorize', access({user: 'bob'})), 400);
  t.is(await ask('/authorize', access({user: 'bob', nonResourceAttributes: path, resourceAttributes: {}})), 400);
  t.is(lines.filter(line => line.includes('a webhook failed, denying the request')).length, 2);
  const {body} = await manager.metrics();
  t.true(body.includes('controller_runtime_webhook_requests_total{webhook="/authenticate",code="200"} 2'), body);
  t.true(body.includes('controller_runtime_webhook_panics_total 2'), body);
});

test('only webhooks that an API server is configured with have a kubeconfig, and there is one of each', async t => {
  const handler = authenticating(() => undefined);

  t.false(webhookKubeconfig(handler, {url: 'https://a'}).includes('certificate-authority-data'));
  t.throws(
    () =>
      webhookKubeconfig(
        validating(Backup, () => []),
        {url: 'https://a'},
      ),
    {
      message: 'a validating webhook is configured by objects: webhookConfigurations',
    },
  );
  const {clientOf} = startServer({clock: new VirtualClock()});
  const certificate = {secret: 'hooks', namespace: 'default'};
  const webhooks = {handlers: [handler, handler], certificate, bindAddress: '127.0.0.1', port: 0};
  const manager = createManager({controllers: [], client: clientOf(), log: noLog, webhooks});
  await t.throwsAsync(manager.run(new AbortController().signal), {message: 'there are two authenticating webhooks'});
});
