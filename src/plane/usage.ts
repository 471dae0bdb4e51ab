import type {UsageReader} from '#src/api/usage.js';

/** Reads from who measures once there is one: the server that shows the figures starts before the nodes that have them. */
export const usageLater = (reader: () => UsageReader | undefined): UsageReader => ({
  pod: (namespace, name) => reader()?.pod(namespace, name),
  pods: namespace => reader()?.pods(namespace) ?? [],
  node: name => reader()?.node(name),
  nodes: () => reader()?.nodes() ?? [],
});
