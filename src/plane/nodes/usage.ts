import type {UsageReader} from '#src/api/node/usage.js';
import type {Simulation} from '#src/simulation/simulation.js';
import {agentsUsage, type AgentsUsageParts} from './agents-usage.js';

export interface PlaneUsageParts extends Omit<AgentsUsageParts, 'isKnown'> {
  /** The simulated nodes of this process, once they run. */
  simulation(): Simulation | undefined;
}

/** The usage of nodes and pods: of those simulated in this process, and of others. */
export const planeUsage = ({simulation, ...parts}: PlaneUsageParts): UsageReader =>
  joined([usageLater(() => simulation()?.usage), agentsUsage({...parts, isKnown: node => simulation()?.nodeAt(node) !== undefined})]);

/** Reads from a reader that is available later: the server starts before the nodes. */
const usageLater = (reader: () => UsageReader | undefined): UsageReader => ({
  pod: (namespace, name) => reader()?.pod(namespace, name),
  pods: namespace => reader()?.pods(namespace) ?? [],
  node: name => reader()?.node(name),
  nodes: () => reader()?.nodes() ?? [],
});

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
