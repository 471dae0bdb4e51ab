import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {aHookServer, patching, type HookServer} from '#test/apiserver/admission/webhook-environment.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const configuration = (kind: 'Mutating' | 'Validating', name: string, {webhook}: HookServer, more: object = {}) =>
  JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${kind}WebhookConfiguration`,
    metadata: {name},
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: {url: `${webhook.url}/${name}`, caBundle: webhook.caBundle},
        rules: [{operations: ['CREATE', 'UPDATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps']}],
        namespaceSelector: {matchLabels: {hooks: 'yes'}},
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        ...more,
      },
    ],
  });

(hasKubectl() ? test : test.skip)('kubectl meets webhooks that change, refuse, warn, and are down', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-hooks-'));
  const settings = join(directory, 'settings.yaml');
  await using _ = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
  using kubectl = new Kubectl(settings);
  await using changing = await aHookServer(() => ({
    ...patching({op: 'add', path: '/data/added', value: 'by the webhook'}),
    warnings: ['this was changed – by a webhook'],
  }));
  await using judging = await aHookServer(({object}) =>
    object?.data?.['size'] === 'huge' ? {allowed: false, status: {code: 403, message: 'too large'}} : {allowed: true},
  );
  await kubectl.ok('create namespace hooks');
  await kubectl.ok('label namespace hooks hooks=yes');
  await kubectl.ok('apply -f -', configuration('Mutating', 'changing', changing));
  await kubectl.ok('apply -f -', configuration('Validating', 'judging', judging));

  const made = await kubectl.try('-n hooks create configmap fine --from-literal=size=small');
  t.is(made.code, 0, made.stderr);
  t.regex(made.stderr, /Warning: this was changed/);
  t.is(await kubectl.ok('-n hooks get configmap fine -o jsonpath={.data.added}'), 'by the webhook');
  const refused = await kubectl.try('-n hooks create configmap large --from-literal=size=huge');
  t.is(refused.code, 1);
  t.regex(refused.stderr, /^error: failed to create configmap: admission webhook "judging\.example\.com" denied the request: too large$/m);
  t.is(
    (
      await kubectl.try(
        '-n hooks apply --dry-run=server -f -',
        JSON.stringify({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'dry'}, data: {size: 'small'}}),
      )
    ).code,
    0,
  );
  t.like(judging.requested.at(-1), {dryRun: true, namespace: 'hooks', name: 'dry'});
  await judging.webhook.close();
  const closed = await kubectl.try('-n hooks create configmap closed --from-literal=size=small');
  t.regex(
    closed.stderr,
    /Internal error occurred: failed calling webhook "judging\.example\.com": failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/judging\?timeout=10s": dial tcp 127\.0\.0\.1:\d+: connect: connection refused/,
  );
  await kubectl.ok('apply -f -', configuration('Validating', 'judging', judging, {failurePolicy: 'Ignore'}));
  t.is((await kubectl.try('-n hooks create configmap open --from-literal=size=small')).code, 0);
  t.regex(
    await kubectl.ok('get mutatingwebhookconfigurations,validatingwebhookconfigurations'),
    /mutatingwebhookconfiguration\.admissionregistration\.k8s\.io\/changing +1 [^]*validatingwebhookconfiguration\.admissionregistration\.k8s\.io\/judging +1 /,
  );
  t.regex(
    await kubectl.ok('get --raw /metrics'),
    /^apiserver_admission_webhook_fail_open_count\{name="judging\.example\.com",type="validating"\} 1$/m,
  );
  rmSync(directory, {recursive: true, force: true});
});
