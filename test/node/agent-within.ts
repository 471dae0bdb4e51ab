// The program of a node's agent, in the namespaces of its containerd: a machine of its own, which may lose its power.

import type {ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, existsSync, openSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {programFile} from '#test/cli/programs.js';
import type {Containerd} from './containerd.js';

export interface AgentWithin {
  readonly child: ChildProcess;
  /** What it has printed. */
  output(): string;
  /** Ends it; pods go on. Returns its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts an agent on a node with connection settings and fields of its configuration beside those that this node needs.
 */
export const startAgentWithin = async (node: Containerd, name: string, settings: string, fields: object): Promise<AgentWithin> => {
  const folder = node.agentFolder;
  const configuration = join(folder, 'configuration.yaml');
  const own = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: node.endpoint,
    cgroupRoot: node.cgroup,
    failCgroupV1: false,
    podLogsDir: join(folder, 'logs'),
    authentication: {webhook: {enabled: true}, anonymous: {enabled: false}},
  };
  writeFileSync(configuration, JSON.stringify({...own, ...fields}));
  const log = join(node.folder, 'agent.log');
  const file = openSync(log, 'a');
  const args = [
    join(process.cwd(), programFile('platlet')),
    `--platconfig=${settings}`,
    `--config=${configuration}`,
    `--hostname-override=${name}`,
    `--root-dir=${join(folder, 'root')}`,
    `--cert-dir=${join(folder, 'pki')}`,
  ];
  const {child, pid} = await node.namespaces.start(process.execPath, args, file).finally(() => closeSync(file));
  return {
    child,
    output: () => (existsSync(log) ? readFileSync(log, 'utf8') : ''),
    async stop(signal = 'SIGTERM') {
      const ended = once(child, 'close') as Promise<[number | null]>;
      process.kill(pid, signal);
      return (await ended)[0];
    },
  };
};
