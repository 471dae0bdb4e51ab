import type {UsageReader} from '#src/api/usage.js';
import type {Simulation} from '#src/simulation/simulation.js';
import {agentsUsage, type AgentsUsageParts} from './agents-usage.js';

export interface PlaneUsageParts extends Omit<AgentsUsageParts, 'isKnown'> {
  /** The simulated nodes of this process, once there are any. */
  simulation(): Simulation | undefined;
}

/** What nodes and pods use: those that are simulated in this process, and those of others. */
export const planeUsage = ({simulation, ...parts}: PlaneUsageParts): UsageReader =>
  joined([usageLater(() => simulation()?.usage), agentsUsage({...parts, isKnown: node => simulation()?.nodeAt(node) !== undefined})]);

/** Reads from who measures once there is one: the server that shows the figures starts before the nodes that have them. */
const usageLater = (reader: () => UsageReader | undefined): UsageReader => ({
  pod: (namespace, name) => reader()?.pod(namespace, name),
  pods: namespace => reader()?.pods(namespace) ?? [],
  node: name => reader()?.node(name),
  nodes: () => reader()?.nodes() ?? [],
});

/** What several readers have together; of one thing the first that knows of it counts. */
const joined = (readers: readonly UsageReader[]): UsageReader => {
  const first = async <T>(read: (reader: UsageReader) => T | undefined | Promise<T | undefined>): Promise<T | undefined> => {
    for (const reader of readers) {
      const found = await read(reader);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const all = async <T>(read: (reader: UsageReader) => readonly T[] | Promise<readonly T[]>): Promise<T[]> => (await Promise.all(readers.map(read))).flat();
  return {
    pod: (namespace, name) => first(reader => reader.pod(namespace, name)),
    pods: namespace => all(reader => reader.pods(namespace)),
    node: name => first(reader => reader.node(name)),
    nodes: () => all(reader => reader.nodes()),
  };
};
