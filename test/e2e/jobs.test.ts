import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-jobs-'));
const settings = join(directory, 'kubeconfig');
const fits = hasKubectl(25);
let plane: Plane | undefined;
let kubectl: Kubectl;

test.before(async () => {
  if (!fits) return;
  plane = await startPlane({naming: 'kubernetes', kubeconfig: settings, nodes: 1});
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
  t.regex(text, /Normal +SuccessfulCreate +.*job-controller +Created pod: hello-[a-z0-9]{5}\n +Normal +Completed +.*job-controller +Job completed/);
  const {code, stderr} = await kubectl.run(['logs', 'job/hello']);
  t.is(code, 1);
  t.regex(stderr, /^Error from server: Get "https:\/\//);
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

  t.is(await ok('wait --for=delete job/again --timeout=30s'), '');
});
