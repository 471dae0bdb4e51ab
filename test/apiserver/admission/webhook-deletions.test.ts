import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {aHook, aHookServer, startWebhookEnvironment} from './webhook-environment.js';

const everything = [{operations: ['*' as const], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}] as never;

test('a validating webhook for the deletion of a pod gets the grace period that the pod is given', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const pods = env.of(kinds.pods);
  for (const name of ['a', 'b'])
    await pods.create({
      metadata: {name, namespace: 'default'},
      spec: {nodeName: 'n', terminationGracePeriodSeconds: 7, containers: [{name: 'c', image: 'i'}]},
    } as never);
  await env.mutating('m', aHook(server, {rules: everything}));
  await env.validating('v', aHook(server, {rules: everything}));
  await pods.delete('a', {namespace: 'default'});
  await pods.delete('b', {namespace: 'default', gracePeriodSeconds: 3} as never);

  t.deepEqual(
    server.requested.map(({options}) => (options as {gracePeriodSeconds?: number}).gracePeriodSeconds),
    [undefined, 7, 3, 3],
  );
});

test('a pod without a grace period is validated once more as it is stored before its end, and one that is going already is not', async t => {
  using env = await startWebhookEnvironment();
  await using server = await aHookServer();
  const pods = env.of(kinds.pods);
  await pods.create({
    metadata: {name: 'a', namespace: 'default'},
    spec: {nodeName: 'n', terminationGracePeriodSeconds: 7, containers: [{name: 'c', image: 'i'}]},
  } as never);
  await env.validating('v', aHook(server, {rules: everything}));
  const graceSeen = () =>
    server.requested.splice(0).map(({oldObject}) => (oldObject as KubeObject).metadata?.deletionGracePeriodSeconds ?? 'none');
  await pods.delete('a', {namespace: 'default'});
  t.deepEqual(graceSeen(), ['none']);
  await pods.delete('a', {namespace: 'default'});
  t.deepEqual(graceSeen(), []);
  await pods.delete('a', {namespace: 'default', gracePeriodSeconds: 0} as never);
  t.deepEqual(graceSeen(), [7, 0]);
});
