import {existsSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {eventually} from '#test/cli/eventually.js';
import {aDirectory, Program} from '#test/cli/programs.js';

(process.platform === 'linux' ? test : test.skip)('--open has the opener of the system open a file that leads to the link', async t => {
  const folder = aDirectory();
  const settings = join(folder, 'kubeconfig');
  writeFileSync(
    settings,
    'apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]\n' +
      'users: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n',
  );
  writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" > ${folder}/said.new && mv ${folder}/said.new ${folder}/said\n`, {
    mode: 0o755,
  });
  const program = new Program('plat', ['console', `--kubeconfig=${settings}`, '--open'], {PATH: `${folder}:${process.env['PATH']}`});
  const [, link] = await program.waitFor(/(http:\/\/127\.0\.0\.1:\d+\/#token=\S+)/);
  const file = await eventually(() => (existsSync(join(folder, 'said')) ? readFileSync(join(folder, 'said'), 'utf8').trim() : undefined));

  t.true(readFileSync(file, 'utf8').includes(`url=${link}"`));
  t.is((statSync(file).mode & 0o777).toString(8), '600');
  t.false(file.includes('token'));
  await program.stop();
  t.false(existsSync(file));
});
