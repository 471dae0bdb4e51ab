import type {Lister} from '#informers/lister.js';
import type {Source} from '#informers/selection.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {isFullyBound, isReachable, volumeBoundTo, volumeAnnotations, type Claim, type Volume} from '#src/model/volumes.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Reservation} from '#src/scheduler/cache/reservation.js';
import {AssumeCache} from './assume-cache.js';
import type {VolumePlan} from './volume-plan.js';

export interface VolumeBinderParts {
  readonly client: Client;
  readonly naming: Naming;
  readonly clock: Clock;
  lister<T extends KubeObject>(source: Source<T>): Lister<T>;
}

/** How long binding the volumes of a pod may take. */
const bindTimeoutMs = 600_000;

interface Written {
  readonly volumes: Frozen<Volume>[];
  readonly claims: Frozen<Claim>[];
}

const isOlder = (seen: Frozen<KubeObject>, written: Frozen<KubeObject>): boolean =>
  Number(seen.metadata?.resourceVersion) < Number(written.metadata?.resourceVersion);

/** Binds the claims of pods to volumes as planned, and serves claims and volumes with assumed changes. */
export class VolumeBinder {
  readonly claims: AssumeCache<Claim>;
  readonly volumes: AssumeCache<Volume>;
  readonly #parts: VolumeBinderParts;
  readonly #checks = new Set<() => void>();

  constructor(parts: VolumeBinderParts) {
    this.#parts = parts;
    this.claims = new AssumeCache(() => parts.lister(kinds.persistentVolumeClaims));
    this.volumes = new AssumeCache(() => parts.lister(kinds.persistentVolumes));
  }

  /** Called when claims or volumes have changed. */
  onChange(): void {
    for (const check of this.#checks) check();
  }

  /** Assumes the plan. `preBind` carries it out and waits until every claim is bound. */
  reserve({bindings, provisions}: VolumePlan, node: string): Reservation {
    const {naming} = this.#parts;
    const {selectedNode} = volumeAnnotations(naming);
    const volumes = bindings.map(({claim, volume}) => volumeBoundTo(volume, claim, naming)).filter(volume => volume !== undefined);
    const claims = provisions.map(claim => {
      const chosen = structuredClone(claim) as Claim;
      chosen.metadata = {...chosen.metadata, annotations: {...chosen.metadata?.annotations, [selectedNode]: node}};
      return chosen;
    });
    for (const volume of volumes) this.volumes.assume(volume);
    for (const claim of claims) this.claims.assume(claim);
    const bound = bindings.map(({claim}) => keyText(keyOf(claim)));
    return {
      unreserve: () => {
        for (const volume of volumes) this.volumes.restore(volume);
        for (const claim of claims) this.claims.restore(claim);
      },
      preBind: (pod, signal) => this.#preBind(pod, node, {volumes, claims}, bound, signal),
    };
  }

  async #preBind(pod: PodInfo, node: string, {volumes, claims}: Written, bound: readonly string[], signal: AbortSignal): Promise<void> {
    const {client, clock} = this.#parts;
    const written: Written = {volumes: [], claims: []};
    const hold = clock.hold();
    try {
      for (const volume of volumes) written.volumes.push(await client.resource(kinds.persistentVolumes).update(volume as Volume));
      for (const claim of claims) written.claims.push(await client.resource(kinds.persistentVolumeClaims).update(claim as Claim));
    } finally {
      hold[Symbol.dispose]();
    }
    await this.#waitUntil(() => this.#isDone(pod, node, written, bound), signal);
  }

  /** Whether every claim is bound. Throws if that has become impossible. */
  #isDone(pod: PodInfo, nodeName: string, {volumes, claims}: Written, bound: readonly string[]): boolean {
    const {naming, lister} = this.#parts;
    const node = lister(kinds.nodes).get(nodeName);
    if (!node) throw new Error(`failed to get node ${JSON.stringify(nodeName)}: node ${JSON.stringify(nodeName)} not found`);
    if (!lister(kinds.pods).get(pod.key))
      throw new Error(`pod does not exist any more: pod ${JSON.stringify(pod.pod.metadata?.name)} not found`);
    const reaches = (volume: Frozen<Volume>) => {
      const {name} = volume.metadata ?? {};
      if (!isReachable(volume, node))
        throw new Error(
          `pv ${JSON.stringify(name)} node affinity doesn't match node ${JSON.stringify(nodeName)}: no matching NodeSelectorTerms`,
        );
    };
    for (const volume of volumes) {
      const name = volume.metadata?.name ?? '';
      const seen = this.volumes.cached(name);
      if (!seen) throw new Error(`failed to check binding: persistentvolume ${JSON.stringify(name)} not found`);
      if (isOlder(seen, volume)) return false;
      reaches(seen);
      if (!seen.spec?.claimRef?.uid) throw new Error(`ClaimRef got reset for pv ${JSON.stringify(name)}`);
    }
    for (const claim of claims) {
      const seen = this.claims.cached(keyText(keyOf(claim)));
      const name = claim.metadata?.name;
      if (!seen) throw new Error(`failed to check provisioning pvc: persistentvolumeclaim ${JSON.stringify(name)} not found`);
      if (isOlder(seen, claim)) return false;
      // A provisioner removes the selected node when it fails.
      if (seen.metadata?.annotations?.[volumeAnnotations(naming).selectedNode] !== nodeName)
        throw new Error(`provisioning failed for PVC ${JSON.stringify(name)}`);
      const volume = seen.spec?.volumeName ? this.volumes.cached(seen.spec.volumeName) : undefined;
      if (volume) reaches(volume);
    }
    return [...bound, ...claims.map(claim => keyText(keyOf(claim)))].every(key => {
      const claim = this.claims.cached(key);
      if (!claim) throw new Error(`failed to check binding: persistentvolumeclaim ${JSON.stringify(key)} not found`);
      return isFullyBound(claim, naming);
    });
  }

  /** Checks again on every change. Rejects with what `isDone` throws, or after the timeout. */
  #waitUntil(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (then: () => void) => {
        timer[Symbol.dispose]();
        this.#checks.delete(check);
        signal.removeEventListener('abort', abort);
        then();
      };
      const check = () => {
        try {
          if (isDone()) end(resolve);
        } catch (error) {
          end(() => reject(new Error(`binding volumes: ${(error as Error).message}`, {cause: error})));
        }
      };
      const abort = () => end(() => reject(signal.reason as Error));
      const timer = this.#parts.clock.schedule(bindTimeoutMs, () =>
        end(() => reject(new Error('binding volumes: context deadline exceeded'))),
      );
      signal.addEventListener('abort', abort, {once: true});
      this.#checks.add(check);
      check();
    });
  }
}
