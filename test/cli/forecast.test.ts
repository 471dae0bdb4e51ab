import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aDirectory, clientBy, Program, run} from './programs.js';

test('plat forecast tells what happens in a running plane and in a snapshot of it, and errors in one line', async t => {
  const directory = aDirectory();
  const plane = new Program('plat', ['up', `--data-dir=${directory}`, '--secure-port=0', '--nodes=0']);
  await plane.waitFor(/ready: /);
  const kubeconfig = join(directory, 'kubeconfig');
  await using client = await clientBy(kubeconfig, 'kubernetes');
  const template = {spec: {restartPolicy: 'Never', containers: [{name: 'a', image: 'a'}]}};
  // A job that the plane itself starts meanwhile hinders none of the forecast.
  const spec = {schedule: '* * * * *', jobTemplate: {spec: {template}}};
  await client.resource(kinds.cronJobs).create({metadata: {name: 'often', namespace: 'default'}, spec});
  const snapshot = join(aDirectory(), 'snapshot');
  t.is((await run('plat', ['snapshot', 'save', `--data-dir=${directory}`, snapshot], {})).code, 0);
  const forecast = (...args: string[]) => run('plat', ['forecast', ...args], {KUBECONFIG: kubeconfig});

  const {code, stdout} = await forecast('--until=3m', '-o', 'json');
  const {happenings, notes} = JSON.parse(stdout) as {happenings: {object: string; what: string}[]; notes: string[]};
  t.deepEqual([code, notes], [0, ['there are no nodes: no pod runs']]);
  t.true(happenings.some(({object, what}) => object === 'CronJob default/often' && what === 'runs'));
  t.regex((await forecast('--until=3m', `--snapshot=${snapshot}`)).stdout, /CronJob default\/often runs/);

  const errors = await Promise.all([forecast('--snapshot=none'), forecast('--job-time=a=1h'), forecast('--until=0s'), forecast('more')]);
  t.deepEqual(
    errors.map(({code: one, stderr}) => [one, stderr.replace(/: ENOENT.*/, '')]),
    [
      [1, 'plat forecast: the snapshot none cannot be used\n'],
      [1, 'plat forecast: --job-time: there is no cron job default/a\n'],
      [1, 'plat forecast: --until must be above zero\n'],
      [1, 'plat forecast: plat forecast does not take any arguments, got "more"\n'],
    ],
  );
  await plane.stop();
});
