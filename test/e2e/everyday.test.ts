import {join} from 'node:path';
import test from 'ava';
import {directory, documents, file, kubectl, sees, within, workload} from './everyday.js';
import {hasKubectl, table} from './kubectl.js';

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
