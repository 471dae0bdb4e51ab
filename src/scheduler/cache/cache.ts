import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import {NodeInfo} from './node-info.js';
import {interleaveZones, zoneOf} from './node-order.js';
import type {PodInfo} from './pod-info.js';

interface CachedPod {
  readonly pod: PodInfo;
  readonly node: string;
  /** Whether we gave it to the node and the server has not told so yet. */
  readonly assumed: boolean;
}

/**
 * What the scheduler knows of nodes and of the pods on them, those it has just given to a node among them. Nodes, with the pods on them, can be made to stand still
 * while a decision is being made: what happens then is done to them afterwards. Where a single pod is, is always told as of now.
 */
export class Cache {
  readonly #naming: Naming;
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #pods = new Map<string, CachedPod>();
  readonly #imageNodes = new Map<string, number>();
  #ordered: readonly NodeInfo[] | undefined;
  #assumed = 0;
  /** What is to be done to nodes once they need not stand still any more. */
  #deferred: (() => void)[] | undefined;

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  /** Nodes that exist, zone by zone in turn. */
  get nodes(): readonly NodeInfo[] {
    return (this.#ordered ??= interleaveZones([...this.#nodes.values()].filter(({node}) => node), this.#naming));
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    return info?.node ? info : undefined;
  }

  /** How many nodes and pods are known, and how many of those only by assumption. */
  get sizes(): Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>> {
    return {nodes: this.nodes.length, pods: this.#pods.size, assumed_pods: this.#assumed};
  }

  /** How many nodes have an image. */
  nodesWithImage(name: string): number {
    return this.#imageNodes.get(name) ?? 0;
  }

  /** Lets nodes stand still until they are `released`. */
  freeze(): void {
    this.#deferred ??= [];
  }

  /** Does to the nodes what happened while they stood still. */
  *applyDeferred(): Steps<void> {
    for (let change = this.#deferred?.shift(); change; change = this.#deferred?.shift()) {
      change();
      yield;
    }
    this.#deferred = undefined;
  }

  setNode(node: Frozen<Node>): void {
    this.#changeNodes(() => {
      const info = this.#getOrCreateNode(node.metadata?.name ?? '');
      const [isNew, zone] = [!info.node, zoneOf(info, this.#naming)];
      this.#countImages(info, -1);
      info.setNode(node);
      this.#countImages(info, 1);
      if (isNew || zoneOf(info, this.#naming) !== zone) this.#ordered = undefined;
    });
  }

  /** Forgets a node. What is known of its pods stays until they are gone too. */
  removeNode(name: string): void {
    this.#changeNodes(() => {
      const info = this.#nodes.get(name);
      if (!info) return;
      this.#countImages(info, -1);
      info.setNode(undefined);
      this.#ordered = undefined;
      this.#deleteIfUnused(info);
    });
  }

  /** The pod as it is known here, on a node. */
  pod(uid: string): CachedPod | undefined {
    return this.#pods.get(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#pods.get(uid)?.assumed ?? false;
  }

  /** Takes a pod to be on a node from now on. */
  assume(pod: PodInfo, node: string): void {
    this.#addPod({pod, node, assumed: true});
  }

  /** Takes in what the server says of a pod on a node: wins over what was assumed. */
  setPod(pod: PodInfo, node: string): void {
    this.#addPod({pod, node, assumed: false});
  }

  /** Takes in a new state of a pod on a node, in which nothing has changed that is reckoned with. */
  refreshPod(uid: string, pod: Frozen<Pod>): void {
    const cached = this.#pods.get(uid);
    if (!cached) return;
    const info = {...cached.pod, pod};
    this.#pods.set(uid, {...cached, pod: info});
    this.#changeNodes(() => this.#nodes.get(cached.node)?.refresh(info));
  }

  removePod(uid: string): void {
    const cached = this.#pods.get(uid);
    if (!cached) return;
    this.#pods.delete(uid);
    if (cached.assumed) this.#assumed--;
    this.#changeNodes(() => {
      const info = this.#nodes.get(cached.node);
      info?.remove(uid);
      if (info) this.#deleteIfUnused(info);
    });
  }

  #changeNodes(change: () => void): void {
    if (this.#deferred) this.#deferred.push(change);
    else change();
  }

  #addPod(cached: CachedPod): void {
    this.removePod(cached.pod.uid);
    this.#pods.set(cached.pod.uid, cached);
    if (cached.assumed) this.#assumed++;
    this.#changeNodes(() => this.#getOrCreateNode(cached.node).add(cached.pod));
  }

  #getOrCreateNode(name: string): NodeInfo {
    const known = this.#nodes.get(name);
    if (known) return known;
    const info = new NodeInfo(name);
    this.#nodes.set(name, info);
    return info;
  }

  #deleteIfUnused(info: NodeInfo): void {
    if (!info.node && info.pods.size === 0) this.#nodes.delete(info.name);
  }

  #countImages({images}: NodeInfo, sign: 1 | -1): void {
    for (const name of images.keys()) {
      const now = (this.#imageNodes.get(name) ?? 0) + sign;
      if (now > 0) this.#imageNodes.set(name, now);
      else this.#imageNodes.delete(name);
    }
  }
}
