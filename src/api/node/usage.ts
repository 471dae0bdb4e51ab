/** The current usage of a container or node. */
export interface ResourceUsage {
  /** Thousandths of a core; may have a fraction. */
  readonly cpuMillis: number;
  readonly memoryBytes: number;
}

/** Measured over `windowMs` up to `timestamp` (ms since the epoch). */
export interface Measurement {
  readonly timestamp: number;
  readonly windowMs: number;
}

export interface PodUsage extends Measurement {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** One entry for each running container. */
  readonly containers: readonly ({readonly name: string} & ResourceUsage)[];
}

export interface NodeUsage extends Measurement, ResourceUsage {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads resource usage; pods without a running container and nodes that do not report have none. */
export interface UsageReader {
  pod(namespace: string, name: string): PodUsage | undefined | Promise<PodUsage | undefined>;
  /** Of one namespace, or of all when it is empty. In no particular order. */
  pods(namespace: string): readonly PodUsage[] | Promise<readonly PodUsage[]>;
  node(name: string): NodeUsage | undefined | Promise<NodeUsage | undefined>;
  nodes(): readonly NodeUsage[] | Promise<readonly NodeUsage[]>;
}
