// Part of the sixth stage of an agent: the API objects that its pods refer to.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {runtimeClassHandlers} from '#src/platlet/inputs/runtime-classes.js';
import type {Service} from '#src/platlet/inputs/service-variables.js';
import {podObjects, type PodObjects, type ReadStrategy} from '#src/platlet/objects/pod-objects.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';

/** The API objects that pods are started with. */
export interface PodInputs {
  readonly objects: PodObjects;
  /** Returns the handler of a RuntimeClass. Rejects if the RuntimeClass does not exist. */
  handlerOf(runtimeClass: string): Promise<string>;
  /** Returns the services of all namespaces; undefined before the first list. */
  services(): readonly Frozen<Service>[] | undefined;
}

/** Creates the readers of API objects. Without an API server they find nothing. */
export const podInputs = (
  {settings, clients, naming, clock}: Pick<AgentParts, 'settings' | 'clients' | 'naming' | 'clock'>,
  {informers, registered}: Pick<Cluster, 'informers' | 'registered'>,
  signal: AbortSignal,
): PodInputs => {
  const {isStandalone, main: client} = clients;
  const strategy = isStandalone ? 'Get' : (settings.configMapAndSecretChangeDetectionStrategy as ReadStrategy);
  const cacheMs = (): number => objectCacheMs(naming, registered());
  const objects = podObjects({client, clock, signal, informers, strategy, cacheMs});
  if (isStandalone) return {objects, handlerOf: () => Promise.resolve(''), services: () => []};
  const runtimeClasses = informers.informer({kind: kinds.runtimeClasses});
  const services = informers.informer<Service>({kind: kinds.services});
  return {
    objects,
    handlerOf: runtimeClassHandlers(naming, runtimeClasses.lister),
    services: () => (services.isSynced ? (services.lister.list() as readonly Frozen<Service>[]) : undefined),
  };
};

const usualCacheMs = 60_000;

/** The time to live of cached objects: from the annotation of the Node, which depends on the size of the cluster. */
const objectCacheMs = (naming: Naming, node: Frozen<Node> | undefined): number => {
  const seconds = node?.metadata?.annotations?.[naming.subKey('node.alpha', 'ttl')];
  return seconds !== undefined && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : usualCacheMs;
};
