import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-workloads-'));
const settings = join(directory, 'kubeconfig');
const fits = hasKubectl(25);
let plane: Plane | undefined;
let kubectl: Kubectl;

test.before(async () => {
  if (!fits) return;
  plane = await startPlane({naming: 'kubernetes', kubeconfig: settings, nodes: 3});
  kubectl = new Kubectl(settings);
});
test.after.always(async () => {
  kubectl?.[Symbol.dispose]();
  await plane?.stop();
  rmSync(directory, {recursive: true, force: true});
});

const sees = fits ? test : test.skip;
const ok = (args: string) => kubectl.okay(args.split(' '));

sees('a job runs to its end, and takes its pods along when it is deleted', async t => {
  await ok('create job hello --image=busybox -- echo hi');
  t.is(await ok('wait --for=condition=complete job/hello --timeout=30s'), 'job.batch/hello condition met\n');

  t.regex(await ok('get job hello --no-headers'), /^hello +Complete +1\/1 /);
  t.regex(await ok('get pods -l job-name=hello --no-headers'), /^hello-[a-z0-9]{5} +0\/1 +Completed +0 /);
  const text = await ok('describe job hello');
  t.regex(text, /Pods Statuses: +0 Active \(0 Ready\) \/ 1 Succeeded \/ 0 Failed/);
  t.regex(
    text,
    /Normal +SuccessfulCreate +.*job-controller +Created pod: hello-[a-z0-9]{5}\n +Normal +Completed +.*job-controller +Job completed/,
  );
  t.is(await ok('logs job/hello'), 'hi\n');
  await ok('delete job hello --cascade=foreground');
  t.is(await ok('get pods -l job-name=hello'), '');
});

sees('a job of a cron job is made by hand, waits until it is resumed, and goes with the cron job', async t => {
  await ok('create cronjob often --image=busybox --schedule=@yearly -- date');
  await kubectl.okay(['patch', 'cronjob', 'often', '-p', '{"spec":{"jobTemplate":{"spec":{"suspend":true}}}}']);
  await ok('create job again --from=cronjob/often');
  t.is(await ok('wait --for=condition=suspended job/again --timeout=30s'), 'job.batch/again condition met\n');
  await kubectl.okay(['patch', 'job', 'again', '-p', '{"spec":{"suspend":false}}']);
  t.is(await ok('wait --for=condition=complete job/again --timeout=30s'), 'job.batch/again condition met\n');
  await ok('delete cronjob often');

  // It is gone already, or goes meanwhile.
  t.regex(await ok('wait --for=delete job/again --timeout=30s'), /^(job\.batch\/again condition met\n)?$/);
});

sees('a deployment is rolled out, back, paused, scaled and exposed, and its pods become endpoints', async t => {
  await ok('create deployment web --image=nginx:1 --replicas=4');
  t.regex(await ok('rollout status deployment/web --timeout=60s'), /deployment "web" successfully rolled out\n$/);
  await ok('expose deployment web --port=80');
  await ok('set image deployment/web nginx=nginx:2');
  await ok('rollout status deployment/web --timeout=60s');
  await ok('rollout undo deployment/web');
  await ok('rollout status deployment/web --timeout=60s');
  t.deepEqual((await ok('rollout history deployment/web')).match(/^\d+/gm), ['2', '3']);
  t.is(await ok('get deployment web -o jsonpath={.spec.template.spec.containers[0].image}'), 'nginx:1');

  await ok('rollout pause deployment/web');
  await ok('set image deployment/web nginx=nginx:3');
  // The pods of the set before may be on their way out still.
  t.is(await ok('get rs -l app=web -o jsonpath={.items[?(@.spec.replicas>0)].spec.template.spec.containers[0].image}'), 'nginx:1');
  await ok('rollout resume deployment/web');
  await ok('rollout status deployment/web --timeout=60s');
  await ok('scale deployment/web --replicas=2');
  await ok('wait --for=jsonpath={.status.availableReplicas}=2 deployment/web --timeout=30s');
  const addresses = (await ok('get pods -l app=web --field-selector=status.phase=Running -o jsonpath={.items[*].status.podIP}')).split(
    ' ',
  ).length;
  t.true(addresses >= 2);
  t.regex(await ok('get endpointslices -l kubernetes.io/service-name=web --no-headers'), /^web-[a-z0-9]{5} +IPv4 +80 +10\.244\./);
});

sees('stateful and daemon sets are rolled out and back', async t => {
  const template = (app: string) => ({metadata: {labels: {app}}, spec: {containers: [{name: 'c', image: `${app}:1`}]}});
  const of = (kind: string, app: string, more: object) => ({
    apiVersion: 'apps/v1',
    kind,
    metadata: {name: app},
    spec: {selector: {matchLabels: {app}}, template: template(app), ...more},
  });
  await kubectl.ok(
    'apply -f -',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [of('StatefulSet', 'db', {replicas: 2, serviceName: 'db'}), of('DaemonSet', 'agent', {})],
    }),
  );
  for (const set of ['sts/db', 'ds/agent']) await ok(`rollout status ${set} --timeout=60s`);
  t.deepEqual((await ok('get pods -l app=db --no-headers -o custom-columns=N:.metadata.name')).trim().split('\n'), ['db-0', 'db-1']);
  t.is(new Set((await ok('get pods -l app=agent -o jsonpath={.items[*].spec.nodeName}')).split(' ')).size, 3);

  await ok('set image sts/db c=db:2');
  await ok('set image ds/agent c=agent:2');
  for (const set of ['sts/db', 'ds/agent']) await ok(`rollout status ${set} --timeout=60s`);
  for (const set of ['sts/db', 'ds/agent']) await ok(`rollout undo ${set}`);
  for (const set of ['sts/db', 'ds/agent']) await ok(`rollout status ${set} --timeout=60s`);
  t.is(await ok('get pods db-0 -o jsonpath={.spec.containers[0].image}'), 'db:1');
  t.regex(await ok('rollout history ds/agent'), /^2 .*\n3 /m);
});

sees('a node is drained as far as a budget lets it, and a quota refuses what is too much', async t => {
  await ok('create namespace tight');
  await ok('create deployment api --image=api:1 --replicas=2 -n tight');
  await ok('rollout status deployment/api --timeout=60s -n tight');
  await ok('create pdb api --selector=app=api --min-available=2 -n tight');
  await ok('wait --for=jsonpath={.status.currentHealthy}=2 pdb/api -n tight --timeout=30s');
  const node = await ok('get pods -n tight -l app=api -o jsonpath={.items[0].spec.nodeName}');
  const {code, stderr} = await kubectl.try(
    `drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=1s --pod-selector=app=api`,
  );
  t.is(code, 1);
  t.regex(stderr, /Cannot evict pod as it would violate the pod's disruption budget/);
  await ok('scale deployment/api --replicas=3 -n tight');
  await ok('wait --for=jsonpath={.status.disruptionsAllowed}=1 pdb/api -n tight --timeout=30s');
  t.regex(
    await ok(`drain ${node} --ignore-daemonsets --delete-emptydir-data --force --timeout=60s --pod-selector=app=api`),
    new RegExp(`node/${node} drained`),
  );
  await ok(`uncordon ${node}`);

  await ok('create quota few --hard=count/deployments.apps=1 -n tight');
  await ok('wait --for=jsonpath={.status.used.count/deployments\\.apps}=1 quota/few -n tight --timeout=30s').catch(() => '');
  t.regex(
    (await kubectl.try('create deployment more --image=x -n tight')).stderr,
    /exceeded quota: few, requested: count\/deployments.apps=1, used: count\/deployments.apps=1, limited: count\/deployments.apps=1/,
  );
  await ok('delete namespace tight --timeout=60s');
  t.regex((await kubectl.try('get namespace tight')).stderr, /NotFound/);
});

sees('use of nodes and pods is shown, and workloads are scaled by it', async t => {
  await ok('create deployment busy --image=busy:1');
  await ok('set resources deployment/busy --requests=cpu=10m');
  await ok('rollout status deployment/busy --timeout=60s');
  await ok('autoscale deployment busy --min=2 --max=3 --cpu-percent=50');
  t.is((await ok('top nodes --no-headers')).trim().split('\n').length, 3);
  t.regex(await ok('top pods -l app=busy --no-headers'), /^busy-\S+ +\d+m +\d+Mi/);

  await ok('wait --for=jsonpath={.status.availableReplicas}=2 deployment/busy --timeout=60s');
  t.regex(
    await ok('describe hpa busy'),
    /SuccessfulRescale +.*horizontal-pod-autoscaler +New size: 2; reason: Current number of replicas below Spec.MinReplicas/,
  );
});
