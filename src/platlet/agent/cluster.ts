// The second stage of an agent: what it reads from the API server and what it reports to it.

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
import {loggedEvents} from '#src/platlet/standalone/standalone.js';

/** The pods of a node in the API server. */
export interface PodApi {
  readonly client: Client;
  /** The pods that are bound to the node. */
  readonly pods: Pick<SharedInformer<Pod>, 'lister' | 'listen' | 'whenSynced'>;
  /** Resolves once the Node has been read, or reading it has timed out. Pods from the API are not synced earlier. */
  readonly ready?: () => Promise<unknown>;
}

/** The connection of an agent to its cluster. */
export interface Cluster {
  readonly events: EventRecorder;
  /** The reference to the Node in events. */
  readonly node: Regarding;
  /** The informers, which start when the agent does. */
  readonly informers: InformerFactory;
  /** Returns the Node from the informer; undefined if there is none. */
  registered(): Frozen<Node> | undefined;
  /** Undefined for an agent without an API server. */
  readonly api: PodApi | undefined;
}

/** Creates the connection of an agent to its cluster. */
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

/** How long pods from the API wait for the first read of the Node after its registration. */
const firstLookMs = 60_000;

/**
 * Resolves after the first read of the Node, or after a timeout. Only static pods run until then: one of them may be
 * the API server.
 */
const firstLook = async (nodes: Pick<SharedInformer, 'whenSynced'>, clock: Clock, signal: AbortSignal): Promise<void> => {
  const late = new AbortController();
  using ended = firstOf(signal, late.signal);
  using _ = clock.schedule(firstLookMs, () => late.abort());
  await nodes.whenSynced(ended.signal).catch(() => {});
};
