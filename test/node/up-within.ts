// `plat up --agent` on a node in namespaces of its own, where its proxy and its DNS server are alone.

import {closeSync, existsSync, mkdirSync, openSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import type {ExecutionContext} from 'ava';
import {aDirectory, programFile} from '#test/cli/programs.js';
import type {Containerd} from './containerd.js';
import {run} from './run.js';
import {untilWithin} from './until.js';

const until = untilWithin(30);

export interface PlaneWithin extends AsyncDisposable {
  kubectl(...args: readonly string[]): Promise<string>;
  output(): string;
}

/** Starts a plane with its agent on a node, with flags of `plat up` beside those that the node needs. */
export const upWithin = async (t: ExecutionContext, node: Containerd, more: readonly string[] = []): Promise<PlaneWithin> => {
  const directory = aDirectory();
  const log = join(node.folder, 'plat.log');
  const file = openSync(log, 'a');
  const flags = {
    'hostname-override': 'here',
    'container-runtime-endpoint': node.endpoint,
    'root-dir': join(node.agentFolder, 'root'),
    'cgroup-root': node.cgroup,
    'make-iptables-util-chains': 'false',
  };
  mkdirSync(flags['root-dir'], {recursive: true});
  const args = [
    join(process.cwd(), programFile('plat')),
    'up',
    '--agent',
    '--secure-port=0',
    `--data-dir=${directory}`,
    `--controller-manager-arg=--cluster-cidr=${node.network.pods.replace(/\d+\.0\/24$/, '0.0/16')}`,
    ...Object.entries(flags).map(([flag, value]) => `--agent-arg=--${flag}=${value}`),
    ...more,
  ];
  const {child, pid} = await node.namespaces.start(process.execPath, args, file).finally(() => closeSync(file));
  const output = () => (existsSync(log) ? readFileSync(log, 'utf8') : '');
  await until(t, 'the plane is ready', async () => {
    if (child.exitCode !== null) throw new Error(output());
    return /^ready: /m.test(output());
  });
  const kubectl = (...rest: readonly string[]): Promise<string> =>
    run('nsenter', `--target=${node.namespaces.pid}`, '--net', 'kubectl', `--kubeconfig=${join(directory, 'kubeconfig')}`, ...rest);
  return {
    kubectl,
    output,
    async [Symbol.asyncDispose]() {
      const ended = new Promise(resolve => child.once('close', resolve));
      process.kill(pid, 'SIGTERM');
      await ended;
    },
  };
};
