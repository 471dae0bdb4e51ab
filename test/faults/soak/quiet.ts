// What holds once the load has ended: every cache of an informer holds what the server holds, and the controllers have
// done their work.

import {setTimeout as wait} from 'node:timers/promises';
import type {SharedInformer} from '#informers/shared.js';
import type {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Kind} from '#src/api/kind.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';

/** The kinds that a soak changes. */
export const watched = [
  kinds.pods,
  kinds.deployments,
  kinds.replicaSets,
  kinds.jobs,
  kinds.configMaps,
  kinds.certificateSigningRequests,
] as readonly Kind[];

const nameOf = ({metadata}: KubeObject): string => `${metadata?.namespace ?? ''}/${metadata?.name}`;
const stateOf = (objects: Iterable<KubeObject>): Map<string, string> =>
  new Map([...objects].map(object => [nameOf(object), `${object.metadata?.uid}@${object.metadata?.resourceVersion}`]));

/** The informers of a soak, over the relay. */
export class Caches {
  readonly #informers: ReadonlyMap<Kind, SharedInformer>;
  readonly #client: Client;

  constructor(factory: InformerFactory, client: Client) {
    this.#client = client;
    this.#informers = new Map(watched.map(kind => [kind, factory.informer(kind)]));
  }

  /** Returns where a cache differs from the server, and which controllers have work to do. */
  async #differences(): Promise<string[]> {
    const problems: string[] = [];
    for (const [kind, informer] of this.#informers) {
      const {items} = await this.#client.resource(kind).list();
      const server = stateOf(items);
      const cache = stateOf(informer.lister.list() as readonly KubeObject[]);
      for (const [name, state] of server)
        if (cache.get(name) !== state) problems.push(`the cache has ${cache.get(name)} of ${kind.plural} ${name}, the server ${state}`);
      for (const [name, state] of cache)
        if (!server.has(name)) problems.push(`the cache has ${state} of ${kind.plural} ${name}, the server none`);
      if (kind === (kinds.deployments as Kind)) problems.push(...items.flatMap(unfinished));
      if (kind === (kinds.pods as Kind)) problems.push(...(items as unknown as readonly PodState[]).flatMap(leaving));
    }
    return problems;
  }

  /** Resolves once nothing differs; with what still does after the time given. */
  async settled(patienceMs: number): Promise<string[]> {
    const end = performance.now() + patienceMs;
    for (;;) {
      const problems = await this.#differences().catch((error: Error) => [`the server does not answer: ${error.message}`]);
      if (problems.length === 0 || performance.now() > end) return problems;
      await wait(250);
    }
  }
}

interface PodState extends KubeObject {
  readonly metadata: {readonly name: string; readonly deletionTimestamp?: string};
}

const unfinished = (object: KubeObject): string[] => {
  const {metadata, spec, status} = object as unknown as {
    readonly metadata: {readonly name: string; readonly generation: number};
    readonly spec: {readonly replicas: number};
    readonly status?: {
      readonly observedGeneration?: number;
      readonly replicas?: number;
      readonly updatedReplicas?: number;
      readonly readyReplicas?: number;
    };
  };
  const {observedGeneration = 0, replicas = 0, updatedReplicas = 0, readyReplicas = 0} = status ?? {};
  const isDone =
    observedGeneration === metadata.generation &&
    replicas === spec.replicas &&
    updatedReplicas === spec.replicas &&
    readyReplicas === spec.replicas;
  return isDone
    ? []
    : [`deployment ${metadata.name} has ${readyReplicas} ready, ${updatedReplicas} updated and ${replicas} pods of ${spec.replicas}`];
};

const leaving = ({metadata: {name, deletionTimestamp}}: PodState): string[] => (deletionTimestamp ? [`pod ${name} is being deleted`] : []);
