// The second stage of an agent: what it reads of the API server and reports to it.

import {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import {Recorder, type EventRecorder, type Regarding} from '#src/runtime/events/events.js';
import type {AgentParts} from './parts.js';
import {loggedEvents} from './standalone.js';

/** The pods of a node in the API server. */
export interface PodApi {
  readonly client: Client;
  /** The pods that are bound to the node. */
  readonly pods: Pick<SharedInformer<Pod>, 'lister' | 'listen' | 'whenSynced'>;
  /** Resolves when the Node is known as far as it can be: before, pods of the API are not acted on. */
  readonly ready?: () => Promise<unknown>;
}

/** What an agent has of its cluster. */
export interface Cluster {
  readonly events: EventRecorder;
  /** The Node that events are about. */
  readonly node: Regarding;
  /** The informers, which start once the agent works. */
  readonly informers: InformerFactory;
  /** Returns the Node as the API server has it; undefined while there is none. */
  registered(): Frozen<Node> | undefined;
  /** Undefined without an API server. */
  readonly api: PodApi | undefined;
}

/** Creates what an agent has of its cluster. */
export const clusterOf = (parts: AgentParts, signal: AbortSignal): Cluster => {
  const {clients, clock, random, log, meter, naming, identity} = parts;
  const {nodeName} = identity;
  const events = clients.isStandalone
    ? loggedEvents(log)
    : new Recorder({client: clients.events, clock, random, log, component: naming.agent, host: nodeName, signal});
  const informers = new InformerFactory({
    client: clients.main,
    clock,
    random,
    log,
    meter,
    component: naming.agent,
    minResyncMs: 0,
    signal,
  });
  const nodes = informers.informer({kind: kinds.nodes, fieldSelector: `metadata.name=${nodeName}`});
  const pods = informers.informer<Pod>({kind: kinds.pods, fieldSelector: `spec.nodeName=${nodeName}`});
  return {
    events,
    node: nodeReference(naming, nodeName),
    informers,
    registered: () => nodes.lister.get(nodeName),
    api: clients.isStandalone ? undefined : {client: clients.main, pods, ready: () => firstLook(nodes, clock, signal)},
  };
};

/** How long pods of the API wait for the Node when it is registered. */
const firstLookMs = 60_000;

/**
 * Resolves when the Node was looked for once, or after a while. Until then there are static pods alone: one of them may
 * be the API server.
 */
const firstLook = async (nodes: Pick<SharedInformer, 'whenSynced'>, clock: Clock, signal: AbortSignal): Promise<void> => {
  const late = new AbortController();
  using ended = firstOf(signal, late.signal);
  using _ = clock.schedule(firstLookMs, () => late.abort());
  await nodes.whenSynced(ended.signal).catch(() => {});
};
