/** How names of pods are answered: not at all, by the address that they spell, or only if a pod has it. */
export type PodMode = 'disabled' | 'insecure' | 'verified';

/** The order in which resolvers are asked. */
export type ForwardPolicy = 'random' | 'round_robin' | 'sequential';

/** How a DNS server works. Times are in milliseconds unless their names say otherwise. */
export interface DnsSettings {
  /** The cluster's domain. */
  readonly domain: string;
  /** How long clients may keep the cluster's records. */
  readonly ttlSeconds: number;
  readonly pods: PodMode;
  /** Resolvers for everything else: addresses, with or without a port, and `resolv.conf` files. */
  readonly forward: readonly string[];
  readonly forwardPolicy: ForwardPolicy;
  /** So many queries may wait for resolvers at once. */
  readonly forwardMaxConcurrent: number;
  /** How long responses of resolvers are cached at most; 0 for not at all. */
  readonly cacheTtlSeconds: number;
  /** The largest message by UDP. */
  readonly payloadSize: number;
  readonly maxTcpConnections: number;
  readonly tcpIdleMs: number;
}

/** As a cluster of kubeadm has it, but with shorter lives of the cluster's records. */
export const defaultSettings: DnsSettings = {
  domain: 'cluster.local',
  ttlSeconds: 5,
  pods: 'insecure',
  forward: ['/etc/resolv.conf'],
  forwardPolicy: 'random',
  forwardMaxConcurrent: 1000,
  cacheTtlSeconds: 30,
  payloadSize: 1232,
  maxTcpConnections: 500,
  tcpIdleMs: 10_000,
};
