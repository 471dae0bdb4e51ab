// What an agent reads of the API server for the volumes of its pods.

import {InformerFactory} from '#informers/factory.js';
import {wellKnown} from '#src/api/user.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {podObjects, type ReadStrategy} from '#src/platlet/objects/pod-objects.js';
import {nodeName, type AgentPlane} from '#test/platlet/agent.js';

export const nodeUser = {name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]};

/** What reads objects for the node. */
export const reading = (plane: AgentPlane, strategy: ReadStrategy) => {
  const lifetime = new AbortController();
  const {clock} = plane;
  const client = plane.client(nodeUser);
  const informers = new InformerFactory({
    client,
    clock,
    random: seededRandom(1),
    log: noLog,
    meter: noMeter,
    component: 'agent',
    minResyncMs: 0,
    signal: lifetime.signal,
  });
  informers.start();
  const objects = podObjects({client, clock, strategy, informers, signal: lifetime.signal, cacheMs: () => 60_000});
  return {objects, client, informers, [Symbol.dispose]: () => lifetime.abort()};
};
