import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {request as httpRequest} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setImmediate} from 'node:timers/promises';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl, table} from './kubectl.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-everyday-'));
const settings = join(directory, 'kubeconfig');
/** Older ones have commands that speak versions which are no longer served. */
const fits = hasKubectl(25);
let plane: Plane | undefined;
let kubectl: Kubectl;

test.before(async () => {
  if (!fits) return;
  plane = await startPlane({
    naming: 'kubernetes',
    kubeconfig: settings,
    controllerManagerArgs: [
      '--controllers=namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller,clusterrole-aggregation-controller',
    ],
  });
  kubectl = new Kubectl(settings);
});
test.after.always(async () => {
  kubectl?.[Symbol.dispose]();
  await plane?.stop();
  rmSync(directory, {recursive: true, force: true});
});

const sees = fits ? test : test.skip;

/** A namespace of a test's own, and kubectl in it. Several commands run side by side. */
const within = async (namespace: string) => {
  await kubectl.ok(`create ns ${namespace}`);
  const accounts = plane!.client().resource(kinds.serviceAccounts);
  while ((await accounts.list({namespace})).items.length === 0) await setImmediate(); // Pods need one, and a controller makes it.
  const okay = (args: readonly string[], input?: string) => kubectl.okay(['-n', namespace, ...args], input);
  return {
    okay,
    ok: (args: string, input?: string) => okay(args.split(' '), input),
    all: (...commands: readonly string[]) => Promise.all(commands.map(args => okay(args.split(' ')))),
    try: (args: string, input?: string) => kubectl.run(['-n', namespace, ...args.split(' ')], input),
  };
};

const file = (name: string, text: string, mode = 0o644): string => {
  const path = join(directory, name);
  writeFileSync(path, text, {mode});
  return path;
};
const documents = (...objects: readonly object[]): string => objects.map(object => JSON.stringify(object)).join('\n');

const containers = [{name: 'c', image: 'nginx:1'}];
const workload = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: {name, labels: {app: name}},
  spec: {selector: {matchLabels: {app: name}}, template: {metadata: {labels: {app: name}}, spec: {containers}}, ...spec},
});

sees('kubectl create makes what it has commands for, and describes it', async t => {
  const {ok, all} = await within('made');
  file('settings.env', 'a=1\nb=2\n');
  const made = await all(
    'create deployment web --image=nginx --replicas=3 --port=80',
    'create job once --image=busybox -- echo hi',
    'create cronjob often --image=busybox --schedule=@hourly -- date',
    'create service clusterip inside --tcp=5678:8080',
    'create service clusterip headless --clusterip=None --tcp=80',
    'create service nodeport port --tcp=80 --node-port=30080',
    'create service loadbalancer balanced --tcp=80',
    'create service externalname outside --external-name=example.com',
    'create ingress way --class=default --rule=example.com/path*=web:80,tls=cert --default-backend=web:80',
    'create quota few --hard=cpu=100,pods=50 --scopes=NotTerminating',
    'create pdb kept --selector=app=web --max-unavailable=50%',
    'create priorityclass high --value=1000 --preemption-policy=Never --description=first',
    'create secret docker-registry pull --docker-server=s --docker-username=u --docker-password=p',
    `create secret generic hidden --from-env-file=${join(directory, 'settings.env')}`,
    `create cm shown --from-file=${join(directory, 'settings.env')}`,
    'run pod --image=nginx --port=80 --expose --env=A=B',
  );
  t.is(made.join('').match(/ created\n/g)?.length, 17);
  t.is(await ok('create job again --from=cronjob/often'), 'job.batch/again created\n');
  t.is(await ok('expose deployment web --port=80 --target-port=8080 --type=NodePort'), 'service/web exposed\n');

  const services = table(await ok('get svc'));
  t.deepEqual(Object.keys(services.rows), ['balanced', 'headless', 'inside', 'outside', 'pod', 'port', 'web']);
  t.like(services.rows['port'], ['NodePort']);
  t.is(services.rows['port']![3], '80:30080/TCP');
  const text = await ok(
    'describe deploy/web job/once cronjob/often svc/balanced ing/way quota/few pdb/kept pc/high secret/pull cm/shown pod/pod sa/default',
  );
  for (const line of [
    /Replicas: +3 desired \| 0 updated \| 0 total/,
    /Completion Mode: +NonIndexed/,
    /Successful Job History Limit: +3/,
    /NodePort: +\S+ +3\d{4}\/TCP/,
    /Ingress Class: +default/,
    /Scopes: +NotTerminating/,
    /Max unavailable: +50%/,
    /PreemptionPolicy: +Never/,
    /\.dockerconfigjson: +\d+ bytes/,
    /settings\.env:\n----\na=1\nb=2\n/,
    /node\.kubernetes\.io\/not-ready:NoExecute op=Exists for 300s/,
  ])
    t.regex(text, line);
});

sees('kubectl scale, set, label and rollout change workloads of each kind', async t => {
  const {ok, okay, all, try: attempt} = await within('changed');
  await ok(
    'create -f -',
    documents(
      workload('Deployment', 'd', {replicas: 1}),
      workload('DaemonSet', 'ds'),
      workload('StatefulSet', 'ss', {serviceName: 's'}),
      workload('ReplicaSet', 'rs'),
    ),
  );
  await all(
    'scale deploy/d rs/rs sts/ss --replicas=4',
    'autoscale deploy d --min=1 --max=3 --cpu-percent=80',
    'create sa robot',
    'create cm settings --from-literal=a=b',
  );
  t.regex((await attempt('scale deploy/d --replicas=2 --current-replicas=5')).stderr, /Expected replicas to be 5, was 4/);
  await okay(['set', 'image', 'deploy,ds,sts,rs', '--all', '*=nginx:2']);
  await all(
    'set env deploy/d --from=configmap/settings --prefix=P_',
    'set resources ds/ds --limits=cpu=200m --requests=cpu=100m',
    'set serviceaccount sts/ss robot',
    'label rs rs tier=back',
    'annotate rs rs note=some',
  );
  await ok('rollout restart deploy/d ds/ds');
  await ok('rollout pause deploy/d');
  t.regex((await attempt('rollout undo deploy/d')).stderr, /cannot rollback a paused deployment|no rollout history found/);

  const [deployment, daemonSet, statefulSet, replicaSet] = (
    JSON.parse(await ok('get deploy/d ds/ds sts/ss rs/rs -o json')) as {
      items: {metadata: object; spec: {replicas?: number; paused?: boolean; template: object}}[];
    }
  ).items;
  t.like(deployment!.spec, {
    replicas: 4,
    paused: true,
    template: {spec: {containers: [{image: 'nginx:2', env: [{name: 'P_A', valueFrom: {configMapKeyRef: {name: 'settings', key: 'a'}}}]}]}},
  });
  t.like(daemonSet!.spec.template, {spec: {containers: [{resources: {limits: {cpu: '200m'}, requests: {cpu: '100m'}}}]}});
  t.like(statefulSet!.spec.template, {spec: {serviceAccountName: 'robot'}});
  t.like(replicaSet!.metadata, {labels: {tier: 'back'}, annotations: {note: 'some'}});
  t.is(table(await ok('get hpa')).rows['d']?.[1], 'cpu: <unknown>/80%');
  t.is(await ok('get deploy d -o jsonpath={.spec.replicas} --subresource=scale'), '4');
});

sees('kubectl patches, edits and replaces statuses and scales alone', async t => {
  const {ok, okay, try: attempt} = await within('parts');
  await ok('create -f -', documents(workload('Deployment', 'd', {replicas: 1})));
  t.is(
    await okay(['patch', 'deploy', 'd', '--subresource=scale', '--type=merge', '-p', '{"spec":{"replicas":6}}']),
    'scale.autoscaling/d patched\n',
  );
  await okay(['patch', 'deploy', 'd', '--subresource=status', '-p', '{"status":{"replicas":6,"readyReplicas":2},"spec":{"replicas":1}}']);
  t.like(table(await ok('get deploy')).rows['d'], ['2/6']);

  await okay([
    'patch',
    'deploy',
    'd',
    '-p',
    '{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"},"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}',
  ]);
  await okay(['patch', 'deploy', 'd', '-p', '{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}']);
  t.is(
    await okay(['get', 'deploy', 'd', '-o', 'jsonpath={.spec.strategy}{.spec.template.spec.containers[*].name}']),
    '{"type":"Recreate"}side',
  );
  t.regex(
    (await attempt('patch deploy d --type=json -p [{"op":"test","path":"/spec/replicas","value":5}]')).stderr,
    /the server rejected our request due to an error in our request/,
  );
  t.regex((await attempt('patch deploy d -p {"spec":{"replica":6}}')).stderr, /unknown field "spec.replica"/);

  const editor = file(
    'editor.sh',
    '#!/bin/sh\nif grep -q "was not valid" "$1"; then cp "$1" "$0.said"; else sed -i "s/restartPolicy: Always/restartPolicy: Never/" "$1"; fi\n',
    0o755,
  );
  const refused = await kubectl.run(['edit', 'deploy', 'd', '-n', 'parts'], undefined, {KUBE_EDITOR: editor});
  t.regex(refused.stderr, /deployments\.apps "d" is invalid/);
  const scaler = file('scaler.sh', '#!/bin/sh\nsed -i "s/replicas: 6/replicas: 2/" "$1"\n', 0o755);
  t.regex(
    (await kubectl.run(['edit', 'deploy', 'd', '-n', 'parts'], undefined, {KUBE_EDITOR: scaler})).stdout,
    /deployment\.apps\/d edited/,
  );
});

sees('kubectl apply prunes by list, and replace --force begins anew', async t => {
  const {okay} = await within('pruned');
  const config = (name: string) => ({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, labels: {set: 'x'}}});
  const both = file('both.yaml', documents(config('one'), config('two')));
  const one = file('one.yaml', documents(config('one')));
  await okay(['apply', '-f', both]);
  t.regex(await okay(['apply', '-f', one, '--prune', '-l', 'set=x', '--prune-allowlist=core/v1/ConfigMap']), /configmap\/two pruned/);
  const uid = await okay(['get', 'cm', 'one', '-o', 'jsonpath={.metadata.uid}']);
  t.regex(await okay(['replace', '--force', '-f', one]), /configmap\/one replaced/);
  t.not(await okay(['get', 'cm', 'one', '-o', 'jsonpath={.metadata.uid}']), uid);
});

(hasKubectl(27) ? sees : test.skip)('kubectl apply prunes by set', async t => {
  const {ok, try: attempt} = await within('pruned-by-set');
  const config = (name: string) => ({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name}});
  const both = file('both-of-set.yaml', documents(config('one'), config('two')));
  const one = file('one-of-set.yaml', documents(config('one')));
  const set = (path: string) =>
    kubectl.run(['apply', '-n', 'pruned-by-set', '-f', path, '--prune', '--applyset=parent'], undefined, {KUBECTL_APPLYSET: 'true'});
  await set(both);
  t.regex((await set(one)).stdout, /configmap\/two pruned/);
  t.is(await ok('get secret parent -o jsonpath={.metadata.annotations.applyset\\.kubernetes\\.io/contains-group-kinds}'), 'ConfigMap');
  t.regex((await attempt('get cm two')).stderr, /NotFound/);
});

sees('kubectl delete orphans, waits for dependents, and forces', async t => {
  const {ok, okay, all, try: attempt} = await within('deleted');
  await ok('create -f -', documents(workload('Deployment', 'a'), workload('Deployment', 'b')));
  await all(
    'delete deploy a --cascade=foreground --wait=false',
    'delete deploy b --cascade=orphan --wait=false',
    'run p --image=x',
    'create cm x',
    'create cm y',
  );
  t.is(await okay(['get', 'deploy', '-o', 'jsonpath={.items[*].metadata.finalizers}']), '["foregroundDeletion"] ["orphan"]');
  t.is(await okay(['patch', 'deploy', 'a', '-p', '{"metadata":{"finalizers":null}}']), 'deployment.apps/a patched\n');
  t.regex((await attempt('get deploy a')).stderr, /NotFound/);

  t.regex((await attempt('delete pod p --grace-period=0 --force')).stdout, /pod "p" force deleted/);
  t.regex(await ok('delete cm --all --dry-run=server'), /configmap "x" deleted.*\(server dry run\)/);
  t.is((await ok('delete cm -l !kept --field-selector=metadata.name!=x')).match(/ deleted/g)?.length, 2);
  t.is(await ok('get cm -o name --field-selector=metadata.name!=kube-root-ca.crt'), 'configmap/x\n');
  t.regex((await kubectl.try('delete ns kube-system')).stderr, /this namespace may not be deleted/);
});

sees('kubectl get sorts, selects, pages and formats', async t => {
  const {ok, okay, try: attempt} = await within('shown');
  const pod = (name: string, app: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name, labels: {app}},
    spec: {schedulerName: 'nobody', containers},
  });
  await ok('create -f -', documents(pod('b', 'x'), pod('a', 'y'), pod('c', 'x')));
  const rows = async (args: string) =>
    (await ok(`get pods --no-headers ${args}`))
      .trim()
      .split('\n')
      .map(line => line.split(/\s+/)[0]);
  t.deepEqual(await rows('--sort-by=.metadata.labels.app'), ['b', 'c', 'a']);
  t.deepEqual(await rows('--chunk-size=1 -l app=x --field-selector=status.phase=Pending,spec.schedulerName=nobody'), ['b', 'c']);
  t.deepEqual(table(await ok('get pods -o wide -L app')).columns, [
    'NAME',
    'READY',
    'STATUS',
    'RESTARTS',
    'AGE',
    'IP',
    'NODE',
    'NOMINATED NODE',
    'READINESS GATES',
    'APP',
  ]);
  t.is(
    await okay(['get', 'pods', '-l', 'app in (y)', '-o', 'go-template={{range .items}}{{.metadata.name}} {{.status.qosClass}}{{end}}']),
    'a BestEffort',
  );
  t.regex((await attempt('get pods -l app=(')).stderr, /unable to parse requirement: found '\(', expected: identifier/);
  t.regex((await attempt('get pods --field-selector=spec.x=1')).stderr, /field label not supported: spec\.x/);
  t.regex((await attempt('top pod')).stderr, /Metrics API not available/);
  t.is(await ok('logs a'), '');
  t.regex((await attempt('exec a -- ls')).stderr, /pod a does not have a host assigned/);
});

sees('kubectl drives nodes, and warns of pods that violate a namespace', async t => {
  const {ok, okay, try: attempt} = await within('driven');
  await kubectl.ok(
    'create -f -',
    documents(
      {apiVersion: 'v1', kind: 'Node', metadata: {name: 'n'}},
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: {name: 'v'},
        spec: {capacity: {storage: '1Gi'}, accessModes: ['ReadWriteOnce'], hostPath: {path: '/x'}},
      },
    ),
  );
  await Promise.all([
    kubectl.ok('taint node n k=v:NoSchedule'),
    kubectl.ok('cordon n'),
    kubectl.ok('label node n node-role.kubernetes.io/worker='),
  ]);
  t.like(table(await kubectl.ok('get node n')).rows['n'], ['Unknown,SchedulingDisabled', 'worker']);
  const text = await kubectl.ok('describe node/n pv/v');
  t.regex(text, /Taints: +(\S+\s+)*k=v:NoSchedule/);
  t.regex(text, /Finalizers: +\[kubernetes\.io\/pv-protection\]/);
  t.regex((await attempt('drain n --timeout=5s')).stdout, /node\/n drained/);

  await kubectl.ok('label ns driven pod-security.kubernetes.io/enforce=baseline pod-security.kubernetes.io/warn=restricted');
  t.regex(
    (await attempt('create deployment d --image=x')).stderr,
    /^Warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false/,
  );
  t.regex(
    (await kubectl.run(['run', 'p', '--image=x', '--privileged', '-n', 'driven'])).stderr,
    /violates PodSecurity "baseline:latest": privileged/,
  );
  t.is(await ok('get pods -o name'), '');
  t.regex(await okay(['get', 'deploy', 'd', '-o', 'jsonpath={.metadata.name}']), /^d$/);
});

sees('an account works with a token within its roles, and grants no more than it has', async t => {
  const {ok, all} = await within('account');
  await all('create sa robot', 'create rolebinding admin --clusterrole=admin --serviceaccount=account:robot');
  const token = (await ok('create token robot --duration=10m')).trim();
  const {clusters} = JSON.parse(await kubectl.ok('config view --raw -o json')) as {clusters: {cluster: Record<string, string>}[]};
  const as = (name: string, user: object) =>
    new Kubectl(
      file(
        name,
        JSON.stringify({
          clusters: [{name: 'c', cluster: clusters[0]!.cluster}],
          users: [{name: 'u', user}],
          contexts: [{name: 'x', context: {cluster: 'c', user: 'u', namespace: 'account'}}],
          'current-context': 'x',
        }),
      ),
    );
  using robot = as('robot', {token});
  using stranger = as('stranger', {token: 'x'});

  t.is(await robot.ok('create cm own --from-literal=a=b'), 'configmap/own created\n');
  t.regex(
    (await robot.try('get nodes')).stderr,
    /User "system:serviceaccount:account:robot" cannot list resource "nodes" in API group "" at the cluster scope/,
  );
  t.regex(
    (await robot.try('create role r --verb=* --resource=nodes')).stderr,
    /is attempting to grant RBAC permissions not currently held:\n\{APIGroups:\[""\], Resources:\["nodes"\], Verbs:\["\*"\]\}/,
  );
  t.deepEqual((await robot.try('auth can-i create pods --subresource=exec')).stdout, 'yes\n');
  t.regex((await stranger.try('get pods')).stderr, /You must be logged in to the server/);

  const rules = (verbs: readonly string[]) =>
    documents({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: {name: 'r', namespace: 'account'},
      rules: [{apiGroups: [''], resources: ['pods'], verbs}],
    });
  t.regex(await kubectl.ok('auth reconcile -f -', rules(['get'])), /role\.rbac\.authorization\.k8s\.io\/r reconciled/);
  t.regex(
    (await kubectl.try('auth reconcile --remove-extra-permissions -f -', rules(['get', 'list']))).stderr,
    /missing rules added:\n\s+\{Verbs:\[list\]/,
  );
});

sees('kubectl kustomize, explain, dump and proxy work with the discovery of the server', async t => {
  await within('rendered');
  file('base.yaml', documents(workload('Deployment', 'd')));
  file(
    'kustomization.yaml',
    'resources: [base.yaml]\nnamespace: rendered\nnamePrefix: k-\nconfigMapGenerator: [{name: g, literals: [a=b]}]\nimages: [{name: nginx, newTag: "9"}]\n',
  );
  t.regex(await kubectl.ok(`apply -k ${directory}`), /configmap\/k-g-\w+ created\ndeployment\.apps\/k-d created/);
  t.is((await kubectl.try(`diff -k ${directory}`)).code, 0);
  t.is(await kubectl.ok('get deploy k-d -n rendered -o jsonpath={.spec.template.spec.containers[0].image}'), 'nginx:9');
  for (const [kind, line] of [
    ['ingress', /pathType\t<string> -required-/],
    ['hpa.spec.metrics', /averageUtilization\t<integer>/],
    ['flowschemas', /matchingPrecedence\t<integer>/],
  ] as const)
    t.regex(await kubectl.ok(`explain ${kind} --recursive`), line);
  t.regex(await kubectl.ok('cluster-info dump --namespaces rendered'), /"name": "k-d"/);

  const socketPath = join(directory, 'proxy.sock');
  const proxy = spawn('kubectl', ['proxy', `--unix-socket=${socketPath}`], {
    env: {PATH: process.env['PATH'], KUBECONFIG: settings, HOME: directory},
  });
  t.teardown(() => proxy.kill('SIGKILL'));
  await once(proxy.stdout, 'data');
  const through = (path: string) =>
    new Promise<string>((resolve, reject) => {
      httpRequest({socketPath, path}, response => response.setEncoding('utf8').once('data', resolve))
        .once('error', reject)
        .end();
    });
  t.like(JSON.parse(await through('/version/')), {major: '1', minor: '35'});
  t.like(JSON.parse((await through('/api/v1/namespaces?watch=1&fieldSelector=metadata.name=rendered')).split('\n')[0]!), {
    type: 'ADDED',
    object: {metadata: {name: 'rendered'}},
  });
});
