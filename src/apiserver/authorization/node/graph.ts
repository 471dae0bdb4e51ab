// The graph of the Node authorizer: which objects each node may read because of the pods, volumes and other objects
// bound to it. It follows the registry and is never complete before `follow` resolves; decisions are made in
// authorizer.ts.

import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {listAndWatchKind, type ObjectHandler} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ObjectOf} from '#src/api/kinds/index.js';
import {referenceKey, referencesOf, volumeSecrets, type ReadableKind} from './references.js';

/** An object of one node: the objects it gives access to, and a text that changes when these may have changed. */
interface NodeAccess {
  readonly node: string;
  readonly sign: string;
  readonly needs: readonly string[];
}

/** A volume that is bound to a claim: access to the claim gives access to the volume and to its secrets. */
interface BoundVolume {
  readonly claim: string;
  readonly secrets: readonly string[];
}

/** The objects that each node may read because of the pods and attachments bound to it. */
export class NodeGraph {
  readonly #naming: Naming;
  readonly #accesses = new Map<string, NodeAccess>();
  /** The number of objects that give a node access to an object, by object and node. */
  readonly #rights = new Map<string, Map<string, number>>();
  readonly #volumes = new Map<string, BoundVolume>();
  readonly #volumesOfSecret = new Map<string, Set<string>>();

  constructor(naming: Naming) {
    this.#naming = naming;
  }

  /** Follows all relevant kinds until the signal aborts. Resolves once the initial state is read. */
  async follow(registry: Registry, signal: AbortSignal): Promise<void> {
    await Promise.all([
      listAndWatchKind(registry, kinds.pods, this.pod, signal),
      listAndWatchKind(registry, kinds.persistentVolumes, this.volume, signal),
      listAndWatchKind(
        registry,
        kinds.volumeAttachments,
        this.#ofNode('volumeattachments', ({spec}) => spec.nodeName),
        signal,
      ),
      listAndWatchKind(
        registry,
        kinds.resourceSlices,
        this.#ofNode('resourceslices', ({spec}) => spec.nodeName),
        signal,
      ),
      listAndWatchKind(
        registry,
        kinds.podCertificateRequests,
        this.#ofNode('podcertificaterequests', ({spec}) => spec.nodeName),
        signal,
      ),
    ]);
  }

  /** Whether a node has access to an object. */
  reaches(node: string, what: ReadableKind, namespace: string, name: string): boolean {
    if (what === 'persistentvolumes') return this.#hasClaim(node, this.#volumes.get(name));
    const key = referenceKey(what, namespace, name);
    if (this.#rights.get(key)?.has(node)) return true;
    if (what !== 'secrets') return false;
    return [...(this.#volumesOfSecret.get(key) ?? [])].some(volume => this.#hasClaim(node, this.#volumes.get(volume)));
  }

  /**
   * The references of a bound pod do not change, except the names of generated claims; ephemeral containers are only
   * ever added.
   */
  readonly pod: ObjectHandler<Pod> = (pod, gone) => {
    const {namespace = '', name = '', uid} = pod.metadata ?? {};
    const key = referenceKey('pods', namespace, name);
    const node = gone ? '' : (pod.spec?.nodeName ?? '');
    if (!node) return this.#unbind(key);
    const {resourceClaimStatuses, extendedResourceClaimStatus} = pod.status ?? {};
    const added = pod.spec?.ephemeralContainers?.length ?? 0;
    const sign = JSON.stringify([uid, node, added, resourceClaimStatuses, extendedResourceClaimStatus?.resourceClaimName]);
    if (this.#accesses.get(key)?.sign !== sign) this.#bind(key, {node, sign, needs: referencesOf(this.#naming, pod)});
  };

  readonly volume: ObjectHandler<ObjectOf<typeof kinds.persistentVolumes>> = (volume, gone) => {
    const name = volume.metadata?.name ?? '';
    for (const secret of this.#volumes.get(name)?.secrets ?? []) {
      const volumes = this.#volumesOfSecret.get(secret);
      volumes?.delete(name);
      if (volumes?.size === 0) this.#volumesOfSecret.delete(secret);
    }
    this.#volumes.delete(name);
    const claim = volume.spec?.claimRef;
    if (gone || !claim) return;
    const secrets = volumeSecrets(volume);
    this.#volumes.set(name, {claim: referenceKey('persistentvolumeclaims', claim.namespace ?? '', claim.name ?? ''), secrets});
    for (const secret of secrets) {
      const volumes = this.#volumesOfSecret.get(secret);
      if (volumes) volumes.add(name);
      else this.#volumesOfSecret.set(secret, new Set([name]));
    }
  };

  #ofNode<T extends {readonly metadata?: {readonly namespace?: string; readonly name?: string}}>(
    what: ReadableKind,
    nodeOf: (object: Readonly<T>) => string | undefined,
  ) {
    return (object: Readonly<T>, gone: boolean): void => {
      const key = referenceKey(what, object.metadata?.namespace ?? '', object.metadata?.name ?? '');
      const node = gone ? undefined : nodeOf(object);
      if (!node) this.#unbind(key);
      else if (this.#accesses.get(key)?.node !== node) this.#bind(key, {node, sign: node, needs: [key]});
    };
  }

  #hasClaim(node: string, volume: BoundVolume | undefined): boolean {
    return volume !== undefined && (this.#rights.get(volume.claim)?.has(node) ?? false);
  }

  #bind(key: string, access: NodeAccess): void {
    this.#unbind(key);
    this.#accesses.set(key, access);
    for (const need of access.needs) {
      const nodes = this.#rights.get(need);
      if (nodes) nodes.set(access.node, (nodes.get(access.node) ?? 0) + 1);
      else this.#rights.set(need, new Map([[access.node, 1]]));
    }
  }

  #unbind(key: string): void {
    const access = this.#accesses.get(key);
    this.#accesses.delete(key);
    for (const need of access?.needs ?? []) {
      const nodes = this.#rights.get(need)!;
      const left = nodes.get(access!.node)! - 1;
      if (left > 0) nodes.set(access!.node, left);
      else nodes.delete(access!.node);
      if (nodes.size === 0) this.#rights.delete(need);
    }
  }
}
