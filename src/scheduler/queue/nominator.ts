import type {PodInfo} from '#src/scheduler/cache/pod-info.js';

/** The pods that are promised a node which others are leaving for them. They count as if they were there already. */
export class Nominator {
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #nodes = new Map<string, string>();

  /** Promises the pod a node instead of the one before. An empty name takes the promise back. */
  set(pod: PodInfo, node: string): void {
    this.delete(pod.uid);
    if (!node) return;
    this.#nodes.set(pod.uid, node);
    const pods = this.#byNode.get(node);
    if (pods) pods.set(pod.uid, pod);
    else this.#byNode.set(node, new Map([[pod.uid, pod]]));
  }

  /** Takes in a new state of a pod, with the node that the old and the new one name. Where both name none a promise stands that is not told yet. */
  update(pod: PodInfo, before: string, now: string): void {
    this.set(pod, now || (before ? '' : (this.#nodes.get(pod.uid) ?? '')));
  }

  delete(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    const pods = this.#byNode.get(node);
    pods?.delete(uid);
    if (pods?.size === 0) this.#byNode.delete(node);
  }

  /** The node that a pod is promised. */
  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid);
  }

  /** The pods that a node is promised to, if any are. */
  podsFor(node: string): Iterable<PodInfo> | undefined {
    return this.#byNode.get(node)?.values();
  }
}
