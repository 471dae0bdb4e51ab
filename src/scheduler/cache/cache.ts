import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import {NodeInfo} from './node-info.js';
import {interleaveZones, zoneOf} from './node-order.js';
import {isSchedulingEqual, type PodInfo} from './pod-info.js';

interface CachedPod {
  readonly pod: PodInfo;
  readonly node: string;
  /** Whether the pod was assumed by the scheduler and the server has not confirmed it yet. */
  readonly assumed: boolean;
}

/**
 * The scheduler's cache of nodes and of the pods on them, including assumed pods. Nodes, with the pods on them, can be
 * frozen while a decision is made: changes are then deferred. The location of a single pod is always current.
 */
export class Cache {
  readonly #naming: Naming;
  readonly #nodes = new Map<string, NodeInfo>();
  readonly #pods = new Map<string, CachedPod>();
  /** The slots of nodes that were deleted: with them and those of existing nodes there are no gaps. */
  readonly #freeSlots: number[] = [];
  readonly #imageNodes = new Map<string, number>();
  readonly #withAffinity = new Set<NodeInfo>();
  readonly #withRequiredAntiAffinity = new Set<NodeInfo>();
  #ordered: readonly NodeInfo[] | undefined;
  #assumed = 0;
  /** Changes of nodes that are deferred while they are frozen. */
  #deferred: (() => void)[] | undefined;

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  /** Existing nodes, with zones interleaved. */
  get nodes(): readonly NodeInfo[] {
    return (this.#ordered ??= interleaveZones(
      [...this.#nodes.values()].filter(({node}) => node),
      this.#naming,
    ));
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    return info?.node ? info : undefined;
  }

  /** The numbers of nodes, pods and assumed pods. */
  get sizes(): Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>> {
    return {nodes: this.nodes.length, pods: this.#pods.size, assumed_pods: this.#assumed};
  }

  /** The number of nodes that have an image. */
  nodesWithImage(name: string): number {
    return this.#imageNodes.get(name) ?? 0;
  }

  /** The nodes with pods that have any affinity terms. */
  get nodesWithAffinity(): Iterable<NodeInfo> {
    return this.#withAffinity;
  }

  /** The nodes with pods that have required anti-affinity terms. */
  get nodesWithRequiredAntiAffinity(): Iterable<NodeInfo> {
    return this.#withRequiredAntiAffinity;
  }

  /** Defers changes of nodes until `applyDeferred`. */
  freeze(): void {
    this.#deferred ??= [];
  }

  /** Applies the changes that were deferred, and ends the freeze. */
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

  /** Removes a node. Its pods stay in the cache until they are deleted too. */
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

  /** The cached pod, with the name of its node. */
  pod(uid: string): CachedPod | undefined {
    return this.#pods.get(uid);
  }

  isAssumed(uid: string): boolean {
    return this.#pods.get(uid)?.assumed ?? false;
  }

  /** Treats a pod as bound to a node from now on. */
  assume(pod: PodInfo, node: string): void {
    this.#addPod({pod, node, assumed: true});
  }

  /** Stores the server's state of a pod on a node, which replaces an assumed one. */
  setPod(pod: PodInfo, node: string): void {
    this.#addPod({pod, node, assumed: false});
  }

  /**
   * Stores the server's state of a pod that was assumed on this node. Returns false if something else has changed that
   * affects scheduling.
   */
  confirm(pod: Frozen<Pod>): boolean {
    const uid = pod.metadata?.uid ?? '';
    const cached = this.#pods.get(uid);
    if (!cached?.assumed || cached.node !== pod.spec?.nodeName || !isSchedulingEqual(cached.pod.pod, pod)) return false;
    this.#assumed--;
    this.#pods.set(uid, {...cached, assumed: false});
    this.refreshPod(uid, pod);
    return true;
  }

  /** Stores a new state of a pod on a node, in which nothing has changed that affects scheduling. */
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
      if (!info) return;
      info.remove(uid);
      this.#listAffinity(info);
      this.#deleteIfUnused(info);
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
    this.#changeNodes(() => {
      const info = this.#getOrCreateNode(cached.node);
      info.add(cached.pod);
      this.#listAffinity(info);
    });
  }

  #getOrCreateNode(name: string): NodeInfo {
    const known = this.#nodes.get(name);
    if (known) return known;
    const info = new NodeInfo(name);
    info.slot = this.#freeSlots.pop() ?? this.#nodes.size;
    this.#nodes.set(name, info);
    return info;
  }

  #deleteIfUnused(info: NodeInfo): void {
    if (!info.node && info.pods.size === 0 && this.#nodes.delete(info.name)) this.#freeSlots.push(info.slot);
  }

  /** Adds a node to those with pods that have affinity terms, or removes it from them. */
  #listAffinity(info: NodeInfo): void {
    for (const [nodes, pods] of [
      [this.#withAffinity, info.withAffinity],
      [this.#withRequiredAntiAffinity, info.withRequiredAntiAffinity],
    ] as const) {
      if (pods.size > 0) nodes.add(info);
      else nodes.delete(info);
    }
  }

  #countImages({images}: NodeInfo, sign: 1 | -1): void {
    for (const name of images.keys()) {
      const now = (this.#imageNodes.get(name) ?? 0) + sign;
      if (now > 0) this.#imageNodes.set(name, now);
      else this.#imageNodes.delete(name);
    }
  }
}
