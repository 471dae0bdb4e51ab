import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {createManager, defineController} from '#src/operator/index.js';
import {ConfigMap} from '#src/operator/kinds.js';
import {connectOperator} from '#src/operator/program/connection.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';

test('an operator in a pod works with the service account of the pod, in its namespace', async t => {
  const plane = await startPlane({controllerManagerArgs: ['--controllers=namespace-controller']});
  t.teardown(() => plane.stop());
  const client = plane.client();
  await plane.apply([
    {apiVersion: 'v1', kind: 'ServiceAccount', metadata: {name: 'maps', namespace: 'default'}},
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: {name: 'maps'},
      roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin'},
      subjects: [{kind: 'ServiceAccount', name: 'maps', namespace: 'default'}],
    },
  ]);
  const token = {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {}};
  const {status} = (await client.request('POST', '/api/v1/namespaces/default/serviceaccounts/maps/token', {body: token})) as {
    status: {token: string};
  };
  const root = aDirectory();
  const account = join(root, 'var/run/secrets/kubernetes.io/serviceaccount');
  mkdirSync(account, {recursive: true});
  const ca = Buffer.from(/certificate-authority-data: (\S+)/.exec(plane.kubeconfig)![1]!, 'base64');
  for (const [file, content] of [
    ['token', status.token],
    ['namespace', 'default'],
    ['ca.crt', ca],
  ] as const)
    writeFileSync(join(account, file), content);
  const {hostname, port} = new URL(/server: (\S+)/.exec(plane.kubeconfig)![1]!);
  const stop = new AbortController();
  const connection = await connectOperator({
    name: 'maps-operator',
    options: {kubeconfig: '', context: '', master: '', cluster: [], naming: 'auto', qps: 20, burst: 30},
    version: {gitVersion: 'v0', gitCommit: 'x'},
    env: {KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port},
    root,
    clock: systemClock,
    meter: noMeter,
    log: noLog,
    signal: stop.signal,
  });
  t.teardown(() => connection[Symbol.asyncDispose]());
  t.is(connection.namespace, 'default');

  await client.resource(ConfigMap).create({metadata: {name: 'given', namespace: 'default'}});
  const users: string[] = [];
  const maps = defineController({
    name: 'maps',
    for: ConfigMap,
    async reconcile({object, key, client: own}) {
      if (!object || key.name !== 'given') return;
      await own.patch(object, copy => (copy.data = {seen: 'yes'}));
      const review = {apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview'};
      const {status: self} = (await own.request('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {body: review})) as {
        status: {userInfo: {username: string}};
      };
      users.push(self.userInfo.username);
    },
  });
  const run = createManager({controllers: [maps], client: connection.client, log: noLog}).run(stop.signal);
  while (users.length === 0) await new Promise(resolve => setTimeout(resolve, 20));
  t.is(users[0], 'system:serviceaccount:default:maps');
  t.is((await client.resource(ConfigMap).get('given', {namespace: 'default'})).data?.['seen'], 'yes');
  stop.abort();
  t.is(await run, 'stopped');
});
