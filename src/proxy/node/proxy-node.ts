// The Node of the proxy: waits until it has what the rules need, and follows its changes.

import type {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {sameJson} from '#src/api/equal.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {hostIpsOf} from './node-ips.js';

const pollMs = 1000;
/** How long the Node may take to have addresses. */
const addressesMs = 30_000;
/** How long it may take to have ranges for its pods, where those are needed. */
const podRangesMs = 300_000;

export interface ProxyNodeParts {
  readonly informers: Pick<InformerFactory, 'informer'>;
  readonly nodeName: string;
  /** Whether the rules depend on the ranges of the node's pods. */
  readonly needsPodRanges: boolean;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Hears what changes of the Node mean for a proxy. */
export interface NodeListener {
  /** The node is in a zone, or in another. */
  zoneChanged(zone: string | undefined): void;
  /** The rules depend on the ranges of the node's pods, and those have changed: the proxy must begin anew. */
  podRangesChanged(): void;
}

/** The Node of a proxy. */
export class ProxyNode {
  readonly #parts: ProxyNodeParts;
  readonly #informer: SharedInformer<Node>;
  /** The Node's addresses, of each family at most one, as they were at the start. */
  hostIps: readonly string[] = [];
  /** The ranges of the node's pods, as they were at the start. */
  podRanges: readonly string[] = [];

  constructor(parts: ProxyNodeParts) {
    this.#parts = parts;
    this.#informer = parts.informers.informer<Node>({kind: kinds.nodes, fieldSelector: `metadata.name=${parts.nodeName}`});
  }

  /** The Node as it is; undefined if there is none. */
  get current(): Frozen<Node> | undefined {
    return this.#informer.lister.get(this.#parts.nodeName);
  }

  /**
   * Waits for the Node and its addresses, and goes on without after a while. Rejects if the ranges of pods are needed
   * and do not come.
   */
  async open(): Promise<void> {
    const {nodeName, needsPodRanges, log, signal} = this.#parts;
    await this.#informer.whenSynced(signal);
    await this.#until(() => hostIpsOf(this.current).length > 0, addressesMs);
    if (needsPodRanges) await this.#until(() => this.#ranges().length > 0, podRangesMs);
    this.hostIps = hostIpsOf(this.current);
    this.podRanges = this.#ranges();
    if (needsPodRanges && this.podRanges.length === 0)
      throw new Error(
        this.current
          ? `timeout waiting for PodCIDR allocation on node ${JSON.stringify(nodeName)}`
          : `timeout waiting for node ${JSON.stringify(nodeName)} to exist`,
      );
    if (!this.current) log.error({node: nodeName}, 'timed out waiting for the node to exist');
    else if (this.hostIps.length === 0) log.error({node: nodeName}, 'timed out waiting for the node to be assigned addresses');
  }

  #ranges(): readonly string[] {
    return this.current?.spec?.podCIDRs ?? [];
  }

  async #until(isThere: () => boolean, timeoutMs: number): Promise<void> {
    const {clock, signal} = this.#parts;
    const end = clock.monotonic() + timeoutMs;
    while (!isThere() && clock.monotonic() < end) await sleep(clock, pollMs, signal);
  }

  /** Tells a listener of the Node's zone, and of changes. */
  follow(listener: NodeListener): Disposable {
    const {naming, needsPodRanges, log, nodeName} = this.#parts;
    const label = naming.subKey('topology', 'zone');
    let zone: string | undefined;
    return this.#informer.listen(change => {
      const {metadata, spec} = change.object;
      if (change.type === 'deleted') return log.info({node: nodeName}, 'the node is being deleted');
      if (needsPodRanges && !sameJson(this.podRanges, spec?.podCIDRs ?? [])) {
        log.info({node: nodeName, newPodCIDRs: spec?.podCIDRs, oldPodCIDRs: this.podRanges}, 'the pod CIDRs of the node have changed');
        listener.podRangesChanged();
      }
      const hostIps = hostIpsOf(change.object);
      if (!sameJson(this.hostIps, hostIps))
        log.info({node: nodeName, newNodeIPs: hostIps, oldNodeIPs: this.hostIps}, 'the addresses of the node have changed');
      if (metadata?.labels?.[label] === zone) return;
      zone = metadata?.labels?.[label];
      listener.zoneChanged(zone);
    });
  }
}
