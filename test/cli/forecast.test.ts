import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {runForecast} from '#src/cli/forecast/forecast.js';
import {forecastFlags} from '#src/options/programs/questions/forecast.js';
import {startPlane} from '#src/plane/plane.js';
import {commandHere} from './here.js';
import {aDirectory, clientBy, run} from './programs.js';

const forecastHere = commandHere(forecastFlags, runForecast);

test('plat forecast tells what happens in a running plane and in a snapshot of it, and errors in one line', async t => {
  const directory = aDirectory();
  const kubeconfig = join(directory, 'kubeconfig');
  await using _plane = await startPlane({kubeconfig, dataDir: directory});
  await using client = await clientBy(kubeconfig, 'kubernetes');
  const template = {spec: {restartPolicy: 'Never', containers: [{name: 'a', image: 'a'}]}};
  // A job that the plane itself starts meanwhile hinders none of the forecast.
  const spec = {schedule: '* * * * *', jobTemplate: {spec: {template}}};
  await client.resource(kinds.cronJobs).create({metadata: {name: 'often', namespace: 'default'}, spec});
  const snapshot = join(aDirectory(), 'snapshot');
  t.is((await run('plat', ['snapshot', 'save', `--data-dir=${directory}`, snapshot], {})).code, 0);
  const forecast = (...args: string[]) => forecastHere(...args, `--platconfig=${kubeconfig}`);

  const {code, stdout} = await run('plat', ['forecast', '--until=3m', '-o', 'json'], {KUBECONFIG: kubeconfig});
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
});
