import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {aDirectory, Program, run} from './programs.js';

test('plat check ends with 0 if nothing is found, with 1 if something is, and with 2 if it cannot look', async t => {
  const directory = aDirectory();
  const plane = new Program('plat', ['up', `--data-dir=${directory}`, '--secure-port=0', '--nodes=0']);
  await plane.waitFor(/ready: /);
  const files = aDirectory();
  mkdirSync(join(files, 'more'));
  const write = (name: string, text: string) => writeFileSync(join(files, name), text);
  write('a.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n');
  write('kustomization.yaml', 'resources: []\n');
  write('more/b.yaml', 'apiVersion: v1\nkind: Endpoints\nmetadata: {name: b}\nsubset: []\n');
  write('more/c.json', '{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "c"}}');
  const check = async (...args: string[]) => {
    const {code, stdout, stderr} = await run('plat', ['check', ...args], {KUBECONFIG: join(directory, 'kubeconfig')});
    return [code, stdout.replaceAll(files, 'FILES'), stderr];
  };
  const deprecated = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice [server-warning]';

  t.deepEqual(await check(files), [0, '1 object checked: nothing found\n', '']);
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
  await plane.stop();
});
