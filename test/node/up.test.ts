import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {aDirectory, Program, run as runProgram, type Ended} from '#test/cli/programs.js';
import {startContainerd} from './containerd.js';
import {recipes} from './images/index.js';
import {containersMissing} from './requirements.js';
import {run} from './run.js';

if (containersMissing) console.log(`skipped: ${containersMissing}`);
const contained = containersMissing ? test.skip : test.serial;

contained('plat up --agent runs a deployment in real containers, and plat node clean removes it', async t => {
  await using node = await startContainerd();
  const directory = aDirectory();
  const flags = {
    'hostname-override': 'real',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    port: '19350',
    'healthz-port': '19348',
  };
  const clean = (): Promise<Ended> =>
    runProgram('plat', [
      'node',
      'clean',
      `--root-dir=${flags['root-dir']}`,
      `--pod-logs-dir=${join(directory, 'agent', 'logs')}`,
      `--cgroup-root=${node.cgroup}`,
      `--container-runtime-endpoint=${node.endpoint}`,
      '--grace-period=1s',
    ]);
  const plane = new Program('plat', [
    'up',
    '--agent',
    '--services=false', // The plane is in the network of this machine.
    '--secure-port=0',
    `--data-dir=${directory}`,
    ...Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`),
  ]);
  try {
    await plane.waitFor(/^ready: /m);
    const kubectl = (...args: readonly string[]): Promise<string> =>
      run('kubectl', `--kubeconfig=${join(directory, 'kubeconfig')}`, ...args);
    await kubectl(
      'create',
      'deployment',
      'web',
      `--image=${recipes.busybox.reference}`,
      '--',
      'sh',
      '-c',
      "trap 'exit 0' TERM; echo up; while true; do sleep 0.1; done",
    );
    await kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=30s');
    t.is(await kubectl('logs', 'deployment/web'), 'up\n');
    t.regex(await kubectl('get', 'nodes'), /real +Ready/);
    t.is(
      (await kubectl('exec', 'deployment/web', '--', 'cat', '/var/run/secrets/kubernetes.io/serviceaccount/namespace')).trim(),
      'default',
    );
    t.like(await clean(), {code: 1, stderr: `plat node: an agent runs with the folder ${flags['root-dir']}\n`});
  } finally {
    await plane.stop();
  }
  t.like(await clean(), {code: 0, stderr: ''});
  t.regex((await clean()).stdout, /^removed 0 sandboxes with 0 containers and 0 mounts\n/);
  t.deepEqual(readdirSync(flags['root-dir']), ['agent.lock']);
});
