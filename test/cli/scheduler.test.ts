import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {sleep, systemClock} from '#src/base/clock.js';
import {aDirectory, aServer, Program, run} from './programs.js';

/** A file with this configuration. */
const aFile = (text: string): string => {
  const file = join(aDirectory(), 'scheduler.yaml');
  writeFileSync(file, text);
  return file;
};

const configuration = (fields: string): string =>
  `apiVersion: platscheduler.config.plat.io/v1\nkind: PlatSchedulerConfiguration\n${fields}`;

test('the scheduler as a program binds the pods that ask for it by its name', async t => {
  await using server = await aServer('plat');
  const {client} = server;
  const config = aFile(configuration('profiles: [{schedulerName: mine}]\n'));
  const scheduler = new Program('plat-scheduler', [
    `--kubeconfig=${server.settings}`,
    `--config=${config}`,
    '--secure-port=0',
    '--leader-elect=false',
  ]);
  await scheduler.waitFor(/^ready: scheduling against https:\S+ \(plat naming\)$/m);
  const node = await client.resource(kinds.nodes).create({metadata: {name: 'n1'}, status: {allocatable: {cpu: '1', pods: '10'}}});
  await client.resource(kinds.nodes).update({...node, spec: {}});
  await client.resource(kinds.serviceAccounts).create({metadata: {name: 'default', namespace: 'default'}});
  const pods = client.resource(kinds.pods);
  const containers = [{name: 'a', image: 'a'}];
  await pods.create({metadata: {name: 'others', namespace: 'default'}, spec: {containers}});
  await pods.create({metadata: {name: 'ours', namespace: 'default'}, spec: {containers, schedulerName: 'mine'}});

  for (let attempt = 0; attempt < 100 && !(await pods.get('ours', {namespace: 'default'})).spec?.nodeName; attempt++)
    await sleep(systemClock, 50);

  t.is((await pods.get('ours', {namespace: 'default'})).spec?.nodeName, 'n1');
  t.is((await pods.get('others', {namespace: 'default'})).spec?.nodeName, undefined);
  t.is((await scheduler.stop()).code, 0);
});

const refusals: readonly [title: string, args: string[], stderr: RegExp][] = [
  ['a file that is not there', ['--config=/nowhere'], /^plat-scheduler: --config \/nowhere: .*no such file.*\n$/],
  [
    'a file with a field it does not know',
    [`--config=${aFile(configuration('extenders: []\n'))}`],
    /^plat-scheduler: --config \S+: extenders: is not a field that can be set here\n$/,
  ],
  ['to guess a server', [], /^plat-scheduler: neither --platconfig nor --master was given.*\n$/],
];

for (const [title, args, stderr] of refusals) {
  test(`the scheduler refuses ${title} in one line`, async t => {
    const ended = await run('plat-scheduler', args);

    t.is(ended.code, 1);
    t.regex(ended.stderr.replaceAll(/^[IWE]\d{4} .*\n/gm, ''), stderr);
  });
}
