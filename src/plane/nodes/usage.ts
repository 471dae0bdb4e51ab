import type {UsageReader} from '#src/api/node/usage.js';
import {agentsUsage, type AgentsUsageParts} from './agents-usage.js';
import type {SimulatedNodes} from './simulated-nodes.js';

/** The usage of nodes and pods: of those simulated in this process, and of others. */
export const planeUsage = (nodes: SimulatedNodes, {client, clock, log}: Omit<AgentsUsageParts, 'isKnown'>): UsageReader =>
  joined([nodes.usage, agentsUsage({client, clock, log, isKnown: node => nodes.nodeAt(node) !== undefined})]);

/** Joins several readers; the first that has an item is used. */
const joined = (readers: readonly UsageReader[]): UsageReader => {
  const first = async <T>(read: (reader: UsageReader) => T | undefined | Promise<T | undefined>): Promise<T | undefined> => {
    for (const reader of readers) {
      const found = await read(reader);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const all = async <T>(read: (reader: UsageReader) => readonly T[] | Promise<readonly T[]>): Promise<T[]> =>
    (await Promise.all(readers.map(read))).flat();
  return {
    pod: (namespace, name) => first(reader => reader.pod(namespace, name)),
    pods: namespace => all(reader => reader.pods(namespace)),
    node: name => first(reader => reader.node(name)),
    nodes: () => all(reader => reader.nodes()),
  };
};
