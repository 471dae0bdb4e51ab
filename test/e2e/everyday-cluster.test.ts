import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {request as httpRequest} from 'node:http';
import {join} from 'node:path';
import {containers, directory, documents, file, kubectl, sees, settings, within, workload} from './everyday.js';
import {bareEnvironment, Kubectl, table} from './kubectl.js';

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
    env: {...bareEnvironment, KUBECONFIG: settings, HOME: directory},
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
