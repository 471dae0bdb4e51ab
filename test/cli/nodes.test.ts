import {once} from 'node:events';
import {createServer, type AddressInfo, type Socket} from 'node:net';
import {networkInterfaces} from 'node:os';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {WebSocket} from 'ws';
import {kinds} from '#src/api/kinds/index.js';
import {forbidden} from '#src/api/status.js';
import type {Log} from '#src/base/log.js';
import {noLog} from '#src/base/log.js';
import {logRefusalsOnce} from '#src/cli/nodes/refusals.js';
import {hasKubectl, Kubectl} from '#test/e2e/kubectl.js';
import {aCluster, ask, startNodes, until, type Cluster, type RunningNodes} from './cluster-nodes.js';
import {aDirectory, Program, run} from './programs.js';

let cluster: Cluster;
let nodes: RunningNodes;
test.before(async () => {
  cluster = await aCluster({metricsApi: true});
  nodes = await startNodes(cluster.settings, ['--nodes=2']);
});
test.after.always(async () => {
  await nodes?.stop();
  await cluster?.plane.stop();
});

const namespace = 'default';
const hasAddress = Object.values(networkInterfaces()).some(found => found?.some(({internal, family}) => !internal && family === 'IPv4'));
if (!hasAddress) console.log('skipped: this machine has no address but that of itself');

const agentOf = async (name: string): Promise<string> => {
  const {status} = await cluster.plane.client().resource(kinds.nodes).get(name);
  return `https://${status?.addresses?.[0]?.address}:${status?.daemonEndpoints?.kubeletEndpoint?.Port}`;
};

test('a program that runs nodes is ready once all of them are', async t => {
  t.regex(nodes.ready, /^2 simulated nodes at work against https:\S+ \(kubernetes naming\)$/);
  const {items} = await cluster.plane.client().resource(kinds.nodes).list();

  t.deepEqual(
    items.map(({metadata}) => metadata?.name),
    ['sim-node-0', 'sim-node-1'],
  );
  t.deepEqual(
    items.map(({status}) => status?.conditions?.find(({type}) => type === 'Ready')?.status),
    ['True', 'True'],
  );
  t.is(new Set(items.map(({status}) => status?.daemonEndpoints?.kubeletEndpoint?.Port)).size, 2);
  t.is(
    (await cluster.plane.client().resource(kinds.leases).get('sim-node-0', {namespace: 'kube-node-lease'})).spec?.holderIdentity,
    'sim-node-0',
  );
});

/** The messages that a WebSocket to the API server receives, by channel, until it closes or has enough. */
const receivedOver = async (
  path: string,
  protocol: string,
  {send, enough}: {readonly send?: Buffer; readonly enough?: RegExp} = {},
): Promise<string[]> => {
  const client = new WebSocket(`${cluster.plane.url.replace('https', 'wss')}${path}`, [protocol], cluster.tls);
  const received: string[] = [];
  client.on('message', (data: Buffer) => {
    received[data[0]!] = (received[data[0]!] ?? '') + data.subarray(1).toString();
    if (enough?.test(received[data[0]!]!)) client.close();
  });
  await once(client, 'open');
  if (send) client.send(send);
  await once(client, 'close');
  return received;
};

test('nodes of another process run the pods of a deployment, and their agents answer for them', async t => {
  const {plane} = cluster;
  const labels = {app: 'web'};
  const annotations = {'simulation.kubernetes.io/behavior': '{log: [listening], ports: {8080: {reply: "hello"}}}'};
  await plane
    .client()
    .resource(kinds.deployments)
    .create({
      metadata: {name: 'web', namespace},
      spec: {
        replicas: 2,
        selector: {matchLabels: labels},
        template: {
          metadata: {labels, annotations},
          spec: {nodeSelector: {'kubernetes.io/hostname': 'sim-node-0'}, containers: [{name: 'app', image: 'nginx'}]},
        },
      },
    });
  await until(cluster, kinds.deployments, 'web', ({status}) => status?.readyReplicas === 2, namespace);
  const {
    items: [pod],
  } = await plane.client().resource(kinds.pods).list({namespace, labelSelector: 'app=web'});
  const path = `/api/v1/namespaces/default/pods/${pod!.metadata!.name!}`;

  t.deepEqual(await ask(`${plane.url}${path}/log`, cluster.tls), {status: 200, text: 'listening\n'});
  const [, out, , status] = await receivedOver(
    `${path}/exec?command=sh&command=-c&command=${encodeURIComponent('echo hi; exit 3')}&stdout=true`,
    'v5.channel.k8s.io',
  );
  t.is(out, 'hi\n');
  t.like(JSON.parse(status!), {reason: 'NonZeroExitCode'});
  const [data] = await receivedOver(`${path}/portforward?ports=8080`, 'v4.channel.k8s.io', {enough: /hello/});
  t.regex(data!, /hello$/);
});

(hasAddress ? test : test.skip)('calls go to the agents of nodes of another process', async t => {
  const outgoing = (path: string) => ask(`${cluster.plane.url}/api/v1/nodes/sim-node-1/proxy${path}`, cluster.tls);

  t.deepEqual(await outgoing('/healthz'), {status: 200, text: 'ok'});
  t.regex((await outgoing('/metrics/resource')).text, /^node_memory_working_set_bytes \d+ \d+$/m);
  t.regex((await outgoing('/stats/summary')).text, /"nodeName":"sim-node-1"/);
});

(hasAddress ? test : test.skip)('the metrics API has the usage of nodes in another process', async t => {
  const client = cluster.plane.client();
  const annotations = {'simulation.kubernetes.io/behavior': '{usage: {cpu: 250m, memory: 64Mi}}'};
  await client.resource(kinds.pods).create({
    metadata: {name: 'busy', namespace, annotations, labels: {app: 'busy'}},
    spec: {nodeName: 'sim-node-1', containers: [{name: 'app', image: 'nginx'}]},
  });
  await until(cluster, kinds.pods, 'busy', ({status}) => status?.phase === 'Running', namespace);

  t.like(await client.resource(kinds.podMetrics).get('busy', {namespace}), {
    metadata: {labels: {app: 'busy'}},
    containers: [{name: 'app', usage: {cpu: '250m', memory: '64Mi'}}],
  });
  t.true((await client.resource(kinds.podMetrics).list()).items.some(({metadata}) => metadata?.name === 'busy'));
  const names = (await client.resource(kinds.nodeMetrics).list()).items.map(({metadata}) => metadata?.name);
  t.true(['sim-node-0', 'sim-node-1'].every(name => names.includes(name)));
  t.is((await client.resource(kinds.nodeMetrics).get('sim-node-1')).metadata?.name, 'sim-node-1');
  await t.throwsAsync(client.resource(kinds.nodeMetrics).get('nowhere'), {message: /not found/});
});

const tokenOf = async (name: string): Promise<string> => {
  const accounts = cluster.plane.client().resource(kinds.serviceAccounts);
  await accounts.create({metadata: {name, namespace}});
  const {status} = (await accounts.create({spec: {audiences: []}} as never, {subresource: 'token', name, namespace} as never)) as {
    status?: {token?: string};
  };
  return status!.token!;
};

test('agents answer only clients with permission on their node', async t => {
  const agent = await agentOf('sim-node-0');
  const insecure = {rejectUnauthorized: false};
  const as = (token: string) => ({...insecure, headers: {authorization: `Bearer ${token}`}});
  const [stranger, reader] = [await tokenOf('stranger'), await tokenOf('reader')];
  const client = cluster.plane.client();
  await client
    .resource(kinds.clusterRoles)
    .create({metadata: {name: 'health'}, rules: [{apiGroups: [''], resources: ['nodes/healthz'], verbs: ['get']}]});
  await client.resource(kinds.clusterRoleBindings).create({
    metadata: {name: 'health'},
    roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'health'},
    subjects: [{kind: 'ServiceAccount', namespace, name: 'reader'}],
  });

  t.deepEqual(await ask(`${agent}/healthz`, insecure), {status: 401, text: 'Unauthorized'});
  t.deepEqual(await ask(`${agent}/healthz`, as('made-up')), {status: 401, text: 'Unauthorized'});
  t.deepEqual(await ask(`${agent}/healthz`, as(stranger)), {
    status: 403,
    text: 'Forbidden (user=system:serviceaccount:default:stranger, verb=get, resource=nodes, subresource(s)=[healthz proxy])\n',
  });
  t.deepEqual(await ask(`${agent}/healthz`, as(reader)), {status: 200, text: 'ok'});
  t.deepEqual(await ask(`${agent}/exec/default/p/c`, {...as(reader), method: 'POST'}), {
    status: 403,
    text: 'Forbidden (user=system:serviceaccount:default:reader, verb=create, resource=nodes, subresource(s)=[proxy])\n',
  });
  t.is((await ask(`${agent}/healthz`, {...insecure, cert: cluster.tls.cert, key: cluster.tls.key})).status, 200);
});

test('a machine that is switched off does not answer', async t => {
  const others = await startNodes(cluster.settings, ['--node-name-prefix=off-', '--nodes=1']);
  const {tls} = cluster;
  const admin = {rejectUnauthorized: false, cert: tls.cert, key: tls.key};
  const agent = await agentOf('off-0');
  t.is((await ask(`${agent}/healthz`, admin)).status, 200);
  await cluster.plane
    .client()
    .resource(kinds.nodes)
    .patch('off-0', 'merge', {metadata: {annotations: {'simulation.kubernetes.io/state': 'stopped'}}});

  const isOff = async (): Promise<boolean> =>
    ask(`${agent}/healthz`, admin).then(
      () => false,
      () => true,
    );
  while (!(await isOff())); // The instruction is on its way.
  t.is(await others.stop(), 0);
});

test('nodes go on when the server comes back', async t => {
  const dataDir = aDirectory();
  const before = await aCluster({dataDir});
  const own = await startNodes(before.settings, ['--node-name-prefix=back-']);
  const securePort = Number(new URL(before.plane.url).port);
  await before.plane.stop();
  const after = await aCluster({dataDir, securePort});
  const pods = after.plane.client().resource(kinds.pods);
  await pods.create({metadata: {name: 'p', namespace}, spec: {nodeName: 'back-0', containers: [{name: 'c', image: 'nginx'}]}});
  const pod = await until(after, kinds.pods, 'p', ({status}) => status?.phase === 'Running', namespace);

  t.is(pod.spec?.nodeName, 'back-0');
  t.is(await own.stop(), 0);
  await after.plane.stop();
});

test('nodes of another process provision, attach, mount and expand volumes of the simulated driver, as the rules say', async t => {
  const own = await aCluster({
    controllerManagerArgs: [
      '--controllers=serviceaccount-controller,persistentvolume-binder,attachdetach,persistentvolume-expander,node-lifecycle-controller',
    ],
  });
  const rules = join(aDirectory(), 'rules.yaml');
  writeFileSync(rules, 'volumes: [{match: {claims: broken}, provisionError: no space}]');
  const running = await startNodes(own.settings, ['--simulated-volumes', `--simulation-file=${rules}`]);
  const client = own.plane.client();
  const [claims, pods] = [client.resource(kinds.persistentVolumeClaims), client.resource(kinds.pods)];
  const claimed = (name: string) => ({
    metadata: {name, namespace},
    spec: {accessModes: ['ReadWriteOnce'], resources: {requests: {storage: '1Gi'}}},
  });
  const podWith = (name: string) => ({
    metadata: {name, namespace},
    spec: {
      containers: [{name: 'c', image: 'nginx', volumeMounts: [{name: 'v', mountPath: '/v'}]}],
      volumes: [{name: 'v', persistentVolumeClaim: {claimName: name}}],
    },
  });
  for (const name of ['data', 'broken']) {
    await claims.create(claimed(name));
    await pods.create(podWith(name));
  }
  await until(own, kinds.pods, 'data', ({status}) => status?.phase === 'Running', namespace);
  const {items} = await client.resource(kinds.volumeAttachments).list();
  t.deepEqual(
    items.map(({spec, status}) => [spec.nodeName, status?.attached]),
    [['sim-node-0', true]],
  );
  await claims.patch('data', 'merge', {spec: {resources: {requests: {storage: '2Gi'}}}}, {namespace});
  await until(own, kinds.persistentVolumeClaims, 'data', ({status}) => status?.capacity?.['storage'] === '2Gi', namespace);
  t.is((await claims.get('broken', {namespace})).status?.phase, 'Pending');
  const {items: events} = await client.resource(kinds.coreEvents).list({namespace});
  t.true(events.some(({reason, message}) => reason === 'ProvisioningFailed' && message?.endsWith('no space')));

  t.is(await running.stop(), 0);
  await own.plane.stop();
});

test('a user without the permissions of nodes gets one line of log', async t => {
  const token = await tokenOf('nobody');
  const settings = join(aDirectory(), 'settings');
  const {plane} = cluster;
  const user = plane.kubeconfig.replace(/client-certificate-data: \S+\n\s*client-key-data: \S+/, `token: ${token}`);
  writeFileSync(settings, user);

  const error = (await t.throwsAsync(startNodes(settings)))!;
  t.regex(
    error.message,
    /^the user of the connection settings may not do what nodes do: get nodes, list nodes, .*, patch pods\/status, .*create subjectaccessreviews \(docs\/simulation\.md has a role for it\)$/,
  );
});

test('forbidden requests are logged once for each kind', t => {
  const lines: string[] = [];
  const write = (...[, message]: unknown[]) => void lines.push(String(message));
  const reported: Log = {
    ...noLog,
    child: () => reported,
    info: write,
    warn: write,
    error: (first: unknown, message?: string) => void lines.push(message ?? String(first)),
  };
  const log = logRefusalsOnce(reported);
  const refusal = (resource: string, name: string) =>
    new Error('reporting failed', {cause: forbidden({group: '', resource}, name, 'not you')});
  for (const name of ['a', 'b']) log.error({err: refusal('pods', name)}, 'a pod failed');
  log.child({}).warn({err: refusal('nodes', 'n')}, 'a node failed');
  log.error({err: new Error('else')}, 'else');

  const before = 'the server forbids what the nodes need (docs/simulation.md lists it), which is tried again without another word: ';
  t.deepEqual(lines, [`${before}pods "a" is forbidden: not you`, `${before}nodes "n" is forbidden: not you`, 'else']);
  t.is(logRefusalsOnce(noLog).v(5), noLog, 'lines below the verbosity are not formatted');
});

(hasKubectl() ? test : test.skip)('kubectl reads logs and runs commands on nodes of another process', async t => {
  using kubectl = new Kubectl(cluster.settings);
  await kubectl.okay([
    'run',
    'typed',
    '--image=busybox',
    '--overrides={"spec": {"nodeName": "sim-node-1"}}',
    '--',
    'sh',
    '-c',
    'echo started; sleep 1h',
  ]);
  await kubectl.ok('wait --for=condition=Ready pod/typed --timeout=20s');

  t.is(await kubectl.ok('logs typed'), 'started\n');
  t.is(await kubectl.ok('exec typed -- echo hello'), 'hello\n');
});

test('plat nodes stops in order while it waits for a server that does not answer', async t => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  t.teardown(() => void silent.close());
  await once(silent, 'listening');
  const outgoing = once(silent, 'connection');
  const program = new Program('plat', ['nodes', `--master=https://127.0.0.1:${(silent.address() as AddressInfo).port}`], {KUBECONFIG: ''});
  const [connection] = (await outgoing) as [Socket];
  const {code, stdout} = await program.stop();
  connection.destroy();

  t.deepEqual([code, stdout], [0, '']);
});

test('plat nodes ends with one line when its settings are nowhere', async t => {
  t.deepEqual(await run('plat', ['nodes', '--kubeconfig=/nowhere']), {
    code: 1,
    stdout: '',
    stderr: 'plat nodes: --platconfig /nowhere: no such file or directory\n',
  });
});
