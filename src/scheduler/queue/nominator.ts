import type {PodInfo} from '#src/scheduler/cache/pod-info.js';

/** The pods nominated to a node by preemption. Filters treat them as if they were on it already. */
export class Nominator {
  readonly #byNode = new Map<string, Map<string, PodInfo>>();
  readonly #nodes = new Map<string, string>();

  /** Nominates the pod to a node, replacing an earlier nomination. An empty name clears it. */
  set(pod: PodInfo, node: string): void {
    this.delete(pod.uid);
    if (!node) return;
    this.#nodes.set(pod.uid, node);
    const pods = this.#byNode.get(node);
    if (pods) pods.set(pod.uid, pod);
    else this.#byNode.set(node, new Map([[pod.uid, pod]]));
  }

  /**
   * Updates a pod from its old and new nominated node. Where both are empty, a nomination not yet in the status is
   * kept.
   */
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

  /** Returns the node to which a pod is nominated. */
  nodeOf(uid: string): string | undefined {
    return this.#nodes.get(uid);
  }

  /** Returns the pods nominated to a node, if there are any. */
  podsFor(node: string): Iterable<PodInfo> | undefined {
    return this.#byNode.get(node)?.values();
  }
}
