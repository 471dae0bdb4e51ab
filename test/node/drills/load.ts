// What the node has to do during a drill: pods that stay, whose containers must not be touched, and pods that come,
// work and go, none of which may be lost or stuck.

import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import type {Pod} from '#src/api/pod.js';
import {recipes} from '#test/node/images/index.js';
import {namespace, nodeName, waitFor, type DrillCluster} from './cluster.js';

const image = recipes.busybox.reference;
const replicas = 3;
const periodMs = 500;
/** How many pods that come and go there may be at once, so that the node keeps up. */
const atOnce = 6;

const stayingPods = {
  metadata: {name: 'staying', namespace},
  spec: {
    replicas,
    selector: {matchLabels: {app: 'staying'}},
    template: {
      metadata: {labels: {app: 'staying'}},
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{name: 'app', image, command: ['sh', '-c', 'trap "exit 0" TERM; while true; do sleep 0.2; done']}],
      },
    },
  },
};

const workingPod = (name: string): Pod => ({
  metadata: {name, namespace, labels: {app: 'working'}},
  spec: {
    restartPolicy: 'Never',
    nodeName,
    terminationGracePeriodSeconds: 1,
    volumes: [{name: 'scratch', emptyDir: {}}],
    containers: [
      {name: 'app', image, command: ['sh', '-c', 'echo done > /scratch/file'], volumeMounts: [{name: 'scratch', mountPath: '/scratch'}]},
    ],
  },
});

/** The container of each staying pod, since when it runs, and how often it was restarted. */
export type Containers = ReadonlyMap<string, {readonly id: string; readonly restarts: number; readonly startedAt: string}>;

export class Load implements AsyncDisposable {
  readonly #cluster: DrillCluster;
  readonly #lifetime = new AbortController();
  readonly #open = new Set<string>();
  readonly #running: Promise<void>;
  #count = 0;
  #succeeded = 0;
  #evicted = 0;

  constructor(cluster: DrillCluster) {
    this.#cluster = cluster;
    this.#running = this.#work();
  }

  static async start(cluster: DrillCluster): Promise<Load> {
    await cluster.client.resource(kinds.deployments).create(stayingPods);
    const load = new Load(cluster);
    await load.staying();
    return load;
  }

  async #work(): Promise<void> {
    while (!this.#lifetime.signal.aborted) {
      // The plane may be away: what could not be asked is asked again.
      await this.#turn().catch(() => {});
      await new Promise(resolve => setTimeout(resolve, periodMs));
    }
  }

  async #turn(): Promise<void> {
    await this.#collect();
    if (this.#open.size >= atOnce) return;
    const name = `working-${++this.#count}`;
    this.#open.add(name);
    await this.#create(name);
  }

  async #create(name: string): Promise<void> {
    await this.#cluster.client
      .resource(kinds.pods)
      .create(workingPod(name))
      .catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
  }

  /** Deletes pods that have ended, and creates those whose request was lost. */
  async #collect(): Promise<void> {
    const client = this.#cluster.client.resource(kinds.pods);
    for (const name of this.#open) {
      const pod = await client.get(name, {namespace}).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
      if (!pod) await this.#create(name);
      else if (pod.status?.phase === 'Succeeded') this.#succeeded++;
      else if (pod.status?.phase === 'Failed' && isRefusal(pod)) this.#evicted++;
      else if (pod.status?.phase === 'Failed') throw new Error(`${name} failed: ${JSON.stringify(pod.status)}`);
      if (pod?.status?.phase !== 'Succeeded' && pod?.status?.phase !== 'Failed') continue;
      await client.delete(name, {namespace});
      this.#open.delete(name);
    }
  }

  /** Waits until all staying pods are ready, and returns their containers. */
  async staying(seconds = 90): Promise<Containers> {
    const pods = await waitFor(seconds, 'all staying pods are ready', async () => {
      const found = (await this.#cluster.pods()).filter(
        ({metadata, status}) => metadata?.labels?.['app'] === 'staying' && status?.phase === 'Running' && !metadata.deletionTimestamp,
      );
      return found.length === replicas && found.every(({status}) => status?.containerStatuses?.[0]?.ready) && found;
    });
    return new Map(
      pods.map(({metadata, status}) => {
        const {containerID = '', restartCount, state} = status!.containerStatuses![0]!;
        return [metadata!.name!, {id: containerID, restarts: restartCount, startedAt: state?.running?.startedAt ?? ''}];
      }),
    );
  }

  /** Waits until some more of the pods that come and go have ended, which shows that the node works. */
  async goesOn(): Promise<void> {
    const before = this.#succeeded;
    await waitFor(90, 'five more pods have worked and gone', async () => this.#succeeded >= before + 5);
  }

  /** Ends the load, and waits until no pod of it is left. Returns how many have come, by their end. */
  async end(): Promise<{readonly succeeded: number; readonly evicted: number}> {
    this.#lifetime.abort();
    await this.#running;
    await waitFor(90, 'the pods that come and go have ended', async () => {
      await this.#collect();
      return this.#open.size === 0;
    });
    await this.#cluster.client.resource(kinds.deployments).delete('staying', {namespace, propagationPolicy: 'Background'});
    await waitFor(90, 'no pod is left', async () => (await this.#cluster.pods()).length === 0);
    return {succeeded: this.#succeeded, evicted: this.#evicted};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lifetime.abort();
    await this.#running;
  }
}

/** Whether a pod failed because the node defends itself, which it may while its disk is full. */
const isRefusal = ({status}: Pod): boolean => status?.reason === 'Evicted';
