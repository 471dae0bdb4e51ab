import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import type {NodeUsage, PodUsage, ResourceUsage, UsageReader} from '#src/api/node/usage.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {isReadyNode} from '#src/model/node-readiness.js';

export interface AgentsUsageParts {
  /** A client with permission to call agents through the server. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether another source has the usage of a node. */
  isKnown(node: string): boolean;
}

interface UsageStats {
  readonly time?: string;
  readonly usageNanoCores?: number;
  readonly workingSetBytes?: number;
}

interface Measures {
  readonly cpu?: UsageStats;
  readonly memory?: UsageStats;
}

/** The used part of an agent's summary. */
interface Summary {
  readonly node?: Measures;
  readonly pods?: readonly {
    readonly podRef: {readonly namespace: string; readonly name: string};
    readonly containers?: readonly ({readonly name: string} & Measures)[];
  }[];
}

type Measured = ReadonlyMap<string, NonNullable<Summary['pods']>[number]>;

const byPod = (summary: Summary | undefined): Measured =>
  new Map((summary?.pods ?? []).map(pod => [`${pod.podRef.namespace}/${pod.podRef.name}`, pod]));

/** How long a response of an agent is cached, how long to wait for one, and its measuring window. */
const freshMs = 5_000;
const callTimeoutMs = 10_000;
const windowMs = 10_000;

/** The number of concurrent requests to agents. */
const concurrency = 32;

const used = ({cpu, memory}: Measures): ResourceUsage => ({
  cpuMillis: (cpu?.usageNanoCores ?? 0) / 1e6,
  memoryBytes: memory?.workingSetBytes ?? 0,
});

/** Reads the summaries of agents through the server, and caches them. */
class AgentSummaries {
  readonly #parts: Pick<AgentsUsageParts, 'client' | 'clock' | 'log'>;
  readonly #cached = new Map<string, {readonly until: number; readonly summary: Promise<Summary | undefined>}>();

  constructor(parts: Pick<AgentsUsageParts, 'client' | 'clock' | 'log'>) {
    this.#parts = parts;
  }

  /** Returns the summary of a node; undefined if its agent does not respond. */
  of(node: string): Promise<Summary | undefined> {
    const now = this.#parts.clock.monotonic();
    const known = this.#cached.get(node);
    if (known && now < known.until) return known.summary;
    for (const [name, {until}] of this.#cached) if (until <= now) this.#cached.delete(name);
    const summary = this.#requestSummary(node);
    this.#cached.set(node, {until: now + freshMs, summary});
    return summary;
  }

  async #requestSummary(node: string): Promise<Summary | undefined> {
    const {client, clock, log} = this.#parts;
    const over = new AbortController();
    const timer = clock.schedule(callTimeoutMs, () => over.abort(new Error(`no answer within ${callTimeoutMs / 1000} s`)));
    try {
      const path = `/api/v1/nodes/${node}/proxy/stats/summary`;
      return (await client.request('GET', path, {query: {only_cpu_and_memory: 'true'}, signal: over.signal})) as Summary;
    } catch (error) {
      this.#cached.delete(node);
      log.v(2).info({node, err: error}, 'failed to read the stats of a node agent');
      return undefined;
    } finally {
      timer[Symbol.dispose]();
    }
  }
}

/** Returns the usage of a node, if its agent has measured it. */
const nodeUsageOf = ({metadata: {name = '', labels = {}} = {}}: Node, summary: Summary | undefined, now: number): NodeUsage[] => {
  if (!summary?.node?.cpu) return [];
  return [{name, labels, timestamp: parseTime(summary.node.cpu.time) ?? now, windowMs, ...used(summary.node)}];
};

/** Returns the usage of a pod, if its containers were measured. */
const podUsageOf = (
  {metadata: {namespace = '', name = '', labels = {}} = {}}: Pod,
  measured: Measured | undefined,
  now: number,
): PodUsage[] => {
  const {containers = []} = measured?.get(`${namespace}/${name}`) ?? {};
  const [first] = containers;
  if (!first) return [];
  const timestamp = parseTime(first.cpu?.time) ?? now;
  const usages = containers.map(container => ({name: container.name, ...used(container)}));
  return [{namespace, name, labels, timestamp, windowMs, containers: usages}];
};

const unlessMissing = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

/**
 * The usage of nodes and pods whose agents run elsewhere. An agent's summary is requested on demand; one that does not
 * respond has no usage.
 */
export const agentsUsage = (parts: AgentsUsageParts): UsageReader => {
  const {client, clock, isKnown} = parts;
  const summaries = new AgentSummaries(parts);

  const nodeUsage = async (node: Node): Promise<NodeUsage[]> => {
    const {name = ''} = node.metadata ?? {};
    return nodeUsageOf(node, isReadyNode(node) && !isKnown(name) ? await summaries.of(name) : undefined, clock.now());
  };
  const others = async (): Promise<Node[]> =>
    (await client.resource(kinds.nodes).list()).items.filter(({metadata}) => !isKnown(metadata?.name ?? ''));

  return {
    async node(name) {
      const node = await client.resource(kinds.nodes).get(name).catch(unlessMissing);
      return node && (await nodeUsage(node))[0];
    },
    nodes: async () => flatMapConcurrently(await others(), nodeUsage),
    async pod(namespace, name) {
      const pod = await client.resource(kinds.pods).get(name, {namespace}).catch(unlessMissing);
      const node = pod?.spec?.nodeName ?? '';
      return pod && node && !isKnown(node) ? podUsageOf(pod, byPod(await summaries.of(node)), clock.now())[0] : undefined;
    },
    async pods(namespace) {
      const nodes = (await others()).filter(isReadyNode);
      if (nodes.length === 0) return [];
      const measured = new Map(
        await flatMapConcurrently(nodes, async ({metadata: {name = ''} = {}}) => [[name, byPod(await summaries.of(name))] as const]),
      );
      const {items} = await client.resource(kinds.pods).list(namespace ? {namespace} : {});
      return items.flatMap(pod => podUsageOf(pod, measured.get(pod.spec?.nodeName ?? ''), clock.now()));
    },
  };
};

/** Maps all items, with a limited number at once. */
const flatMapConcurrently = async <T, R>(all: readonly T[], perItem: (one: T) => Promise<readonly R[]>): Promise<R[]> => {
  const found: R[][] = all.map(() => []);
  const rest = [...all.entries()].toReversed();
  const worker = async () => {
    for (let next = rest.pop(); next; next = rest.pop()) found[next[0]] = [...(await perItem(next[1]))];
  };
  await Promise.all(Array.from({length: concurrency}, worker));
  return found.flat();
};
