// A plane as a program on a port that it keeps, and one node with real containers whose agent has its folder on a small
// disk. Each part can be killed and started again.

import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {aDirectory, clientBy, Program} from '#test/cli/programs.js';
import {freePort} from '#test/fixtures/free-port.js';
import {nodeSettings} from '#test/node/agent-program.js';
import {startAgentWithin, type AgentWithin} from '#test/node/agent-within.js';
import {startContainerd, type Containerd} from '#test/node/containerd.js';
import {run} from '#test/node/run.js';
import {untilWithin} from '#test/node/until.js';

export const nodeName = 'worker';
export const namespace = 'default';

const failed = {
  fail(message: string): never {
    throw new Error(message);
  },
};

/** Waits at most so many seconds of real time until something is found. */
export const waitFor = <T>(seconds: number, what: string, look: () => Promise<T | undefined | false>): Promise<T> =>
  untilWithin(seconds)(failed, what, look);

/** The fields of the agent's configuration: pressure is noticed and passes within seconds. */
const configuration = {
  evictionHard: {'nodefs.available': '10%'},
  evictionPressureTransitionPeriod: '5s',
  nodeStatusUpdateFrequency: '2s',
};

export class DrillCluster implements AsyncDisposable {
  readonly containerd: Containerd;
  readonly root: string;
  readonly #directory: string;
  readonly #port: number;
  #server: Program | undefined;
  #agent: AgentWithin | undefined;
  #client: (Client & AsyncDisposable) | undefined;

  private constructor(containerd: Containerd, directory: string, port: number) {
    this.containerd = containerd;
    this.root = join(containerd.agentFolder, 'root');
    this.#directory = directory;
    this.#port = port;
  }

  static async start(): Promise<DrillCluster> {
    const containerd = await startContainerd();
    const cluster = new DrillCluster(containerd, aDirectory(), await freePort());
    try {
      mkdirSync(cluster.root);
      await run('mount', '-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', cluster.root);
      await cluster.startServer();
      await cluster.startAgent();
      await cluster.becomesReady(60);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  async startServer(): Promise<void> {
    this.#server = new Program('plat', [
      'up',
      '--nodes=0',
      `--data-dir=${this.#directory}`,
      `--bind-address=${this.containerd.network.host}`,
      `--secure-port=${this.#port}`,
    ]);
    await this.#server.waitFor(/^ready: /m);
    this.#client ??= await clientBy(join(this.#directory, 'kubeconfig'), 'kubernetes');
  }

  async killServer(): Promise<void> {
    await this.#server?.stop('SIGKILL');
    this.#server = undefined;
  }

  async startAgent(): Promise<void> {
    const plane = {url: `https://${this.containerd.network.host}:${this.#port}`};
    const settings = await nodeSettings(plane, this.#directory, this.containerd.agentFolder, nodeName);
    this.#agent = await startAgentWithin(this.containerd, nodeName, settings, configuration);
  }

  /** Kills the agent, which can do nothing more. */
  async killAgent(): Promise<void> {
    await this.#agent?.stop('SIGKILL');
    this.#agent = undefined;
  }

  /** Ends the agent in order. Returns its exit code. */
  async stopAgent(): Promise<number | null> {
    const code = (await this.#agent?.stop()) ?? null;
    this.#agent = undefined;
    return code;
  }

  get client(): Client {
    if (!this.#client) throw new Error('the plane has not started');
    return this.#client;
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.resource(kinds.pods).list({namespace})).items;
  }

  async node(): Promise<Node | undefined> {
    return this.client
      .resource(kinds.nodes)
      .get(nodeName)
      .catch(() => undefined);
  }

  /** Waits until a condition of the node has a status. */
  async condition(type: string, status: string, seconds: number): Promise<void> {
    await waitFor(seconds, `the node has ${type} ${status}`, async () => {
      const node = await this.node();
      return node?.status?.conditions?.some(condition => condition.type === type && condition.status === status);
    });
  }

  async becomesReady(seconds: number): Promise<void> {
    await this.condition('Ready', 'True', seconds);
  }

  /** The last lines of the agent's log. */
  agentLog(): string {
    return this.#agent?.output().split('\n').slice(-20).join('\n') ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.killAgent();
    await this.#client?.[Symbol.asyncDispose]();
    await this.killServer();
    await this.containerd.stop();
  }
}
