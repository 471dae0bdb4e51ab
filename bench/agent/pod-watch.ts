import type {Client} from '#src/client/client.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {recipes} from '#test/node/images/index.js';

const namespace = 'default';
const sleeping = ['sleep', '3600'];

interface Waiting {
  readonly name: string;
  readonly phase: string;
  resolve(at: number): void;
}

/** Creates and deletes pods of one namespace, and sees their phases when the API server shows them. */
export class PodWatch implements Disposable {
  readonly #client: Client;
  readonly #lifetime = new AbortController();
  /** The phases of the pods that are there. */
  readonly #phases = new Map<string, string>();
  #waiting: Waiting[] = [];

  private constructor(client: Client) {
    this.#client = client;
  }

  static async start(client: Client): Promise<PodWatch> {
    const watch = new PodWatch(client);
    const {resourceVersion} = (await watch.#pods.list({namespace})).metadata ?? {};
    watch.#pods
      .watch({namespace, ...(resourceVersion ? {resourceVersion} : {}), signal: watch.#lifetime.signal})
      .subscribe({next: ({type, object}) => watch.#see(type === 'DELETED', object as Pod), error: () => {}});
    return watch;
  }

  get #pods() {
    return this.#client.resource(kinds.pods);
  }

  #see(isGone: boolean, {metadata: {name = ''} = {}, status}: Pod): void {
    const phase = isGone ? 'gone' : (status?.phase ?? '');
    if (isGone) this.#phases.delete(name);
    else this.#phases.set(name, phase);
    const at = performance.now();
    for (const waiting of this.#waiting) if (waiting.name === name && waiting.phase === phase) waiting.resolve(at);
    this.#waiting = this.#waiting.filter(waiting => waiting.name !== name || waiting.phase !== phase);
  }

  /** Resolves to the time by `performance.now` at which a pod is next shown in a phase, or `gone`. */
  reaches(name: string, phase: string): Promise<number> {
    return new Promise(resolve => this.#waiting.push({name, phase, resolve}));
  }

  /** Creates a pod of one container that sleeps, or runs a command once. Resolves to the time when it had the phase. */
  async run(name: string, command?: readonly string[]): Promise<number> {
    const reached = this.reaches(name, command ? 'Succeeded' : 'Running');
    await this.#pods.create({
      metadata: {name, namespace},
      spec: {
        ...(command ? {restartPolicy: 'Never'} : {}),
        containers: [{name: 'app', image: recipes.busybox.reference, command: [...(command ?? sleeping)]}],
      },
    });
    return reached;
  }

  /** Deletes all pods, and resolves once they are gone. */
  async clear(): Promise<void> {
    const gone = [...this.#phases.keys()].map(async name => {
      const isGone = this.reaches(name, 'gone');
      await this.#pods.delete(name, {namespace, gracePeriodSeconds: 1});
      await isGone;
    });
    await Promise.all(gone);
  }

  [Symbol.dispose](): void {
    this.#lifetime.abort();
  }
}
