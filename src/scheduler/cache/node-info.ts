import type {Frozen} from '#src/api/key.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import type {Taint} from '#src/model/taints.js';
import type {HostPort, PodInfo} from './pod-info.js';
import {addResources, copyResources, emptyResources, resourcesOf, type Resources} from './resources.js';

let lastVersion = 0;
const newVersion = (): number => ++lastVersion;

/** A node with the pods on it and their resource usage. */
export class NodeInfo {
  readonly name: string;
  /** Undefined while pods name a node that is not in the cache. */
  node: Frozen<Node> | undefined;
  /** The node's labels, without a prototype. */
  labels: Readonly<Record<string, string>> = none;
  /** By uid. */
  readonly pods: Map<string, PodInfo>;
  /** Pods with any affinity terms, and pods with required anti-affinity terms. */
  readonly withAffinity: Map<string, PodInfo>;
  readonly withRequiredAntiAffinity: Map<string, PodInfo>;
  readonly requested: Resources;
  /** The requests used for scoring, with defaults for containers that state none. */
  readonly nonZeroRequested: {cpu: number; memory: number};
  allocatable: Resources = emptyResources();
  maxPods = 0;
  /** Whether the node is cordoned. */
  isUnschedulable = false;
  taints: readonly Taint[] = [];
  /** The number of pods per host port, by protocol and port, then by address. */
  readonly #ports: Map<string, Map<string, number>>;
  /** The number of pods on the node that mount a claim, by `namespace/name`. */
  readonly claims: Map<string, number>;
  /** The size of each image in bytes, by each of its names. */
  images: ReadonlyMap<string, number> = new Map();
  /** A new one with every change, and of no other node, so that cached computations can be recognized as stale. */
  version = newVersion();
  /** Its place in the columns of a `NodeMemo`; -1 if it is in no cache, as copies are not. */
  slot = -1;

  constructor(name: string, source?: NodeInfo) {
    this.name = name;
    this.node = source?.node;
    this.pods = new Map(source?.pods);
    this.withAffinity = new Map(source?.withAffinity);
    this.withRequiredAntiAffinity = new Map(source?.withRequiredAntiAffinity);
    this.requested = source ? copyResources(source.requested) : emptyResources();
    this.nonZeroRequested = {cpu: source?.nonZeroRequested.cpu ?? 0, memory: source?.nonZeroRequested.memory ?? 0};
    this.#ports = new Map([...(source ? source.#ports : [])].map(([port, taken]) => [port, new Map(taken)]));
    this.claims = new Map(source?.claims);
    if (!source) return;
    this.labels = source.labels;
    this.allocatable = source.allocatable;
    this.maxPods = source.maxPods;
    this.isUnschedulable = source.isUnschedulable;
    this.taints = source.taints;
    this.images = source.images;
  }

  /** Returns a copy that can be modified independently. */
  copy(): NodeInfo {
    return new NodeInfo(this.name, this);
  }

  setNode(node: Frozen<Node> | undefined): void {
    this.node = node;
    this.isUnschedulable = Boolean(node?.spec?.unschedulable);
    this.taints = node?.spec?.taints ?? [];
    this.labels = Object.assign(Object.create(null) as object, node?.metadata?.labels);
    this.version = newVersion();
    const amounts = new Map(Object.entries(node?.status?.allocatable ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
    this.allocatable = resourcesOf(amounts);
    const pods = amounts.get('pods');
    this.maxPods = pods ? Number(quantityValue(pods)) : 0;
    this.images = new Map(
      // An image without names has null, as the original writes it.
      (node?.status?.images ?? []).flatMap(({names, sizeBytes}) => (names ?? []).map(name => [name, Number(sizeBytes ?? 0)] as const)),
    );
  }

  add(pod: PodInfo): void {
    this.version = newVersion();
    this.pods.set(pod.uid, pod);
    const {required, requiredAnti, preferred, preferredAnti} = pod.terms;
    if (required.length + requiredAnti.length + preferred.length + preferredAnti.length > 0) this.withAffinity.set(pod.uid, pod);
    if (requiredAnti.length > 0) this.withRequiredAntiAffinity.set(pod.uid, pod);
    this.#updateUsage(pod, 1);
  }

  /** Stores a new state of a pod whose requests, ports and claims are unchanged. */
  refresh(pod: PodInfo): void {
    if (Boolean(pod.pod.metadata?.deletionTimestamp) !== Boolean(this.pods.get(pod.uid)?.pod.metadata?.deletionTimestamp))
      this.version = newVersion();
    for (const pods of [this.pods, this.withAffinity, this.withRequiredAntiAffinity]) if (pods.has(pod.uid)) pods.set(pod.uid, pod);
  }

  /** Removes a pod and its usage. */
  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (!pod) return;
    this.version = newVersion();
    this.pods.delete(uid);
    this.withAffinity.delete(uid);
    this.withRequiredAntiAffinity.delete(uid);
    this.#updateUsage(pod, -1);
  }

  #updateUsage({requests, nonZeroRequests, ports, namespace, claims}: PodInfo, sign: 1 | -1): void {
    addResources(this.requested, requests, sign);
    this.nonZeroRequested.cpu += sign * nonZeroRequests.cpu;
    this.nonZeroRequested.memory += sign * nonZeroRequests.memory;
    for (const port of ports) {
      const taken = this.#ports.get(portKey(port)) ?? new Map<string, number>();
      this.#ports.set(portKey(port), taken);
      count(taken, port.ip, sign);
    }
    for (const claim of claims) count(this.claims, `${namespace}/${claim}`, sign);
  }

  /** Whether two pods could not share a host because of their ports. */
  static portsConflict(one: readonly HostPort[], other: readonly HostPort[]): boolean {
    return one.some(a => other.some(b => portKey(a) === portKey(b) && (a.ip === b.ip || a.ip === anyAddress || b.ip === anyAddress)));
  }

  /** Whether a port is taken: on the same address, or where one of both is the wildcard address. */
  isTaken(port: HostPort): boolean {
    const taken = this.#ports.get(portKey(port));
    if (!taken || taken.size === 0) return false;
    return port.ip === anyAddress || taken.has(port.ip) || taken.has(anyAddress);
  }
}

const none: Readonly<Record<string, string>> = Object.freeze(Object.create(null) as Record<string, string>);
const anyAddress = '0.0.0.0';
const portKey = ({protocol, port}: HostPort): string => `${protocol}/${port}`;

const count = (counts: Map<string, number>, key: string, by: 1 | -1): void => {
  const now = (counts.get(key) ?? 0) + by;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
};
