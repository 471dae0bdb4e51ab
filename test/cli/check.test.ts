import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {runCheck} from '#src/cli/check/check.js';
import {checkFlags} from '#src/options/programs/questions/check.js';
import {startPlane} from '#src/plane/plane.js';
import {commandHere} from './here.js';
import {aDirectory, run, type Ended} from './programs.js';

const checkHere = commandHere(checkFlags, runCheck);

test('plat check ends with 0 if nothing is found, with 1 if something is, and with 2 if it cannot look', async t => {
  const kubeconfig = join(aDirectory(), 'kubeconfig');
  await using _plane = await startPlane({kubeconfig, controllers: 'none'});
  const files = aDirectory();
  mkdirSync(join(files, 'more'));
  const write = (name: string, text: string) => writeFileSync(join(files, name), text);
  write('a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
  write('kustomization.yaml', 'resources: []\n');
  write('more/b.yaml', 'apiVersion: v1\nkind: Endpoints\nmetadata: {name: b}\nsubset: []\n');
  write('more/c.json', '{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "c"}}');
  const shown = ({code, stdout, stderr}: Ended) => [code, stdout.replaceAll(files, 'FILES'), stderr];
  const check = async (...args: string[]) => shown(await checkHere(...args, `--platconfig=${kubeconfig}`));
  const deprecated = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice [server-warning]';

  t.deepEqual(shown(await run('plat', ['check', files], {KUBECONFIG: kubeconfig})), [0, '1 object checked: nothing found\n', '']);
  t.deepEqual(await check(files, '-R'), [
    1,
    [
      `FILES/more/b.yaml:1: warning: Endpoints default/b: ${deprecated}`,
      'FILES/more/b.yaml:4: error: Endpoints default/b: unknown field "subset" [unknown-field]',
      `FILES/more/c.json:1: warning: Endpoints default/c: ${deprecated}`,
      '',
      '3 objects checked: 1 error, 2 warnings',
      '',
    ].join('\n'),
    '',
  ]);
  t.is((await check(join(files, 'more/c.json'), '--fail-on=error'))[0], 0);
  t.deepEqual(await check(join(files, 'none')), [2, '', `plat check: ${join(files, 'none')}: there is no such file or folder\n`]);
  t.deepEqual((await check(files, '--master=https://127.0.0.1:1')).slice(0, 2), [2, '']);
});
