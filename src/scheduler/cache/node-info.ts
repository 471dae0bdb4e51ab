import type {Frozen} from '#src/api/key.js';
import {parseQuantity, quantityValue} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import type {HostPort, PodInfo} from './pod-info.js';
import {addResources, copyResources, noResources, resourcesOf, type Resources} from './resources.js';

/** A node with the pods on it and what they take of it. */
export class NodeInfo {
  readonly name: string;
  /** Absent while pods are known to be on a node that is not. */
  node: Frozen<Node> | undefined;
  /** The node's labels, and nothing that every object has. */
  labels: Readonly<Record<string, string>> = none;
  /** By the pod's uid. */
  readonly pods: Map<string, PodInfo>;
  /** Those of them that ask anything of the pods near them, and those that refuse some. */
  readonly withAffinity: Map<string, PodInfo>;
  readonly withRequiredAntiAffinity: Map<string, PodInfo>;
  readonly requested: Resources;
  /** What is requested, where nodes are compared. */
  readonly scored: {cpu: number; memory: number};
  allocatable: Resources = noResources();
  mostPods = 0;
  /** How many pods take a port, by protocol, port and address. */
  readonly #ports: Map<string, Map<string, number>>;
  /** How many pods of the node mount a claim, by `namespace/name`. */
  readonly claims: Map<string, number>;
  /** Bytes of an image, by each of its names. */
  images: ReadonlyMap<string, number> = new Map();
  /** Grows with every change, so that what was reckoned from a node can be known to be old. */
  version = 0;

  constructor(name: string, like?: NodeInfo) {
    this.name = name;
    this.node = like?.node;
    this.pods = new Map(like?.pods);
    this.withAffinity = new Map(like?.withAffinity);
    this.withRequiredAntiAffinity = new Map(like?.withRequiredAntiAffinity);
    this.requested = like ? copyResources(like.requested) : noResources();
    this.scored = {cpu: like?.scored.cpu ?? 0, memory: like?.scored.memory ?? 0};
    this.#ports = new Map([...(like ? like.#ports : [])].map(([port, taken]) => [port, new Map(taken)]));
    this.claims = new Map(like?.claims);
    if (!like) return;
    this.labels = like.labels;
    this.allocatable = like.allocatable;
    this.mostPods = like.mostPods;
    this.images = like.images;
    this.version = -1; // Of nobody's business but the copier's.
  }

  /** The same, to be changed without anybody noticing. */
  copy(): NodeInfo {
    return new NodeInfo(this.name, this);
  }

  setNode(node: Frozen<Node> | undefined): void {
    this.node = node;
    this.labels = Object.assign(Object.create(null) as object, node?.metadata?.labels);
    this.version++;
    const amounts = new Map(Object.entries(node?.status?.allocatable ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
    this.allocatable = resourcesOf(amounts);
    const pods = amounts.get('pods');
    this.mostPods = pods ? Number(quantityValue(pods)) : 0;
    this.images = new Map((node?.status?.images ?? []).flatMap(({names = [], sizeBytes = 0}) => names.map(name => [name, Number(sizeBytes)] as const)));
  }

  add(pod: PodInfo): void {
    this.version++;
    this.pods.set(pod.uid, pod);
    const {required, requiredAnti, preferred, preferredAnti} = pod.terms;
    if (required.length + requiredAnti.length + preferred.length + preferredAnti.length > 0) this.withAffinity.set(pod.uid, pod);
    if (requiredAnti.length > 0) this.withRequiredAntiAffinity.set(pod.uid, pod);
    this.#reckon(pod, 1);
  }

  /** Takes in a new state of a pod that takes and asks for the same as before. */
  refresh(pod: PodInfo): void {
    if (Boolean(pod.pod.metadata?.deletionTimestamp) !== Boolean(this.pods.get(pod.uid)?.pod.metadata?.deletionTimestamp)) this.version++;
    for (const pods of [this.pods, this.withAffinity, this.withRequiredAntiAffinity]) if (pods.has(pod.uid)) pods.set(pod.uid, pod);
  }

  /** Takes a pod off, as it was added. */
  remove(uid: string): void {
    const pod = this.pods.get(uid);
    if (!pod) return;
    this.version++;
    this.pods.delete(uid);
    this.withAffinity.delete(uid);
    this.withRequiredAntiAffinity.delete(uid);
    this.#reckon(pod, -1);
  }

  #reckon({requests, scored, ports, namespace, claims}: PodInfo, sign: 1 | -1): void {
    addResources(this.requested, requests, sign);
    this.scored.cpu += sign * scored.cpu;
    this.scored.memory += sign * scored.memory;
    for (const port of ports) {
      const taken = this.#ports.get(place(port)) ?? new Map<string, number>();
      this.#ports.set(place(port), taken);
      count(taken, port.ip, sign);
    }
    for (const claim of claims) count(this.claims, `${namespace}/${claim}`, sign);
  }

  /** Whether two pods could not share a host. */
  static collide(one: readonly HostPort[], other: readonly HostPort[]): boolean {
    return one.some(a => other.some(b => place(a) === place(b) && (a.ip === b.ip || a.ip === everyAddress || b.ip === everyAddress)));
  }

  /** Whether a port is taken: on the same address, or one of both is every address. */
  isTaken(port: HostPort): boolean {
    const taken = this.#ports.get(place(port));
    if (!taken || taken.size === 0) return false;
    return port.ip === everyAddress || taken.has(port.ip) || taken.has(everyAddress);
  }
}

const none: Readonly<Record<string, string>> = Object.freeze(Object.create(null) as Record<string, string>);
const everyAddress = '0.0.0.0';
const place = ({protocol, port}: HostPort): string => `${protocol}/${port}`;

const count = (counts: Map<string, number>, key: string, by: 1 | -1): void => {
  const now = (counts.get(key) ?? 0) + by;
  if (now > 0) counts.set(key, now);
  else counts.delete(key);
};
