// Volumes on simulated nodes: the containers of a pod start once its volumes are bound, attached and mounted, and a
// node reports its volumes in use.

import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume as PodVolume} from '#src/api/pod.js';
import type {Lister} from '#informers/lister.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {claimOfVolume, type Claim, type Volume} from '#src/model/volumes.js';
import {isControlledBy} from '#src/model/owners.js';
import {lookMs, unmountedMessage, unusableText, type MissingVolume} from '#src/platlet/pod/missing-volumes.js';
import type {Agent} from '#src/simulation/node/agent.js';
import type {Mounting} from '#src/simulation/pod/mounting.js';
import type {PodRecord} from '#src/simulation/pod/record.js';
import {targetOf, type DriverContext} from './context.js';

type CsiDriver = ObjectOf<typeof kinds.csiDrivers>;

/** The initial and the maximum backoff of failed mounts. */
const firstBackoffMs = 500;
const maxBackoffMs = 122_000;
/** The mean time between syncs of a pod whose volumes cannot be used. */
const syncMs = 12_500;

interface NodeVolumesParts {
  readonly driver: DriverContext;
  readonly drivers: Lister<CsiDriver>;
  enqueuePod(key: string): void;
  enqueueNode(name: string): void;
}

interface Waiter {
  readonly node: string;
  readonly claims: ReadonlySet<string>;
}

/** How far a volume is that is not mounted, and the time of the next check. */
type Obstacle = Omit<MissingVolume, 'name'> & {readonly retryAt?: number};

const unattached: Obstacle = {isProcessed: true, isAttached: false};
const unmounted: Obstacle = {isProcessed: true, isAttached: true};

/** Mounts the volumes of the pods on simulated nodes. */
export class NodeVolumes {
  readonly #parts: NodeVolumesParts;
  /** Pods waiting for their volumes, by key. */
  readonly #waiting = new Map<string, Waiter>();

  constructor(parts: NodeVolumesParts) {
    this.#parts = parts;
  }

  /** Queues the pods that may wait for this claim or volume. */
  onClaim({metadata}: Frozen<Claim>): void {
    this.#wake(({claims}) => claims.has(`${metadata?.namespace}/${metadata?.name}`));
  }

  onVolume({spec}: Frozen<Volume>): void {
    if (spec?.claimRef) this.#wake(({claims}) => claims.has(`${spec.claimRef!.namespace}/${spec.claimRef!.name}`));
  }

  onNode(name: string): void {
    this.#wake(({node}) => node === name);
  }

  #wake(concerns: (waiter: Waiter) => boolean): void {
    for (const [key, waiter] of this.#waiting) if (concerns(waiter)) this.#parts.enqueuePod(key);
  }

  /** Mounts the volumes that are ready. */
  mount(agent: Agent, record: PodRecord, now: number): void {
    const volumes = claimedVolumes(record.pod);
    if (volumes.length === 0) return;
    const mounting = (record.mounting ??= {
      mounted: new Set(),
      waiting: [],
      retryAt: Infinity,
      failures: new Map(),
      reportAt: Infinity,
    });
    const waiting: MissingVolume[] = [];
    let retryAt = Infinity;
    for (const volume of volumes) {
      if (mounting.mounted.has(volume.name)) continue;
      const obstacle = this.#obstacle(agent, record, mounting, volume, now);
      if (!obstacle) {
        mounting.mounted.add(volume.name);
        continue;
      }
      const {retryAt: at = Infinity, ...missing} = obstacle;
      waiting.push({name: volume.name, ...missing});
      retryAt = Math.min(retryAt, at);
    }
    mounting.waiting = waiting;
    if (waiting.length === 0) {
      this.#waiting.delete(record.key);
      return;
    }
    this.#report(agent, record, mounting, now);
    mounting.retryAt = Math.min(retryAt, mounting.reportAt);
    const namespace = record.pod.metadata?.namespace ?? '';
    const claims = new Set(volumes.map(volume => `${namespace}/${claimOfVolume(record.pod, volume)}`));
    this.#waiting.set(record.key, {node: agent.machine.name, claims});
  }

  #report(agent: Agent, {pod}: PodRecord, mounting: Mounting, now: number): void {
    const unusable = unusableText(mounting.waiting);
    if (unusable === undefined) mounting.reportAt = Infinity;
    else if (mounting.reportAt === Infinity) mounting.reportAt = now + lookMs;
    else if (now >= mounting.reportAt) {
      mounting.reportAt = now + syncMs;
      agent.events.warning(pod, 'FailedMount', unmountedMessage(unusable));
    }
  }

  #obstacle(agent: Agent, record: PodRecord, mounting: Mounting, volume: Frozen<PodVolume>, now: number): Obstacle | undefined {
    const found = this.#volumeOf(record.pod, volume);
    // It is not known yet whether the volume has to be attached.
    if (typeof found === 'string') return {isProcessed: false, isAttached: true, problem: found};
    if (!this.#isAttached(agent, record, found)) return unattached;
    const failure = mounting.failures.get(volume.name);
    if (failure && now < failure.retryAt) return {...unmounted, retryAt: failure.retryAt};
    const {driver} = this.#parts;
    if (found.spec?.csi?.driver !== driver.driver) return undefined;
    const target = targetOf(found, driver.naming, agent.machine.name);
    const {again, error} = driver.steps.take(`${record.uid}/${volume.name}`, 'mount', target);
    if (again) return {...unmounted, retryAt: again.kind === 'requeue' ? now + again.afterMs : Infinity};
    if (!error) return undefined;
    const delayMs = Math.min(failure ? failure.delayMs * 2 : firstBackoffMs, maxBackoffMs);
    mounting.failures.set(volume.name, {delayMs, retryAt: now + delayMs});
    const text = `MountVolume.SetUp failed for volume ${JSON.stringify(found.metadata?.name)} : ${error.message}`;
    agent.events.warning(record.pod, 'FailedMount', text);
    return {...unmounted, retryAt: now + delayMs};
  }

  /** Returns the persistent volume of a pod volume, or why there is none. */
  #volumeOf(pod: Frozen<Pod>, volume: Frozen<PodVolume>): Frozen<Volume> | string {
    const {claims, volumes} = this.#parts.driver;
    const {namespace = ''} = pod.metadata ?? {};
    const name = claimOfVolume(pod, volume)!;
    const failure = (why: string) => `error processing PVC ${namespace}/${name}: ${why}`;
    const claim = claims.get({namespace, name});
    if (!claim) return failure(`failed to fetch PVC from API server: persistentvolumeclaims ${JSON.stringify(name)} not found`);
    if (volume.ephemeral && !isControlledBy(claim, pod))
      return failure(`PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata?.name} (pod is not owner)`);
    if (claim.status?.phase !== 'Bound' || !claim.spec?.volumeName) return failure('PVC is not bound');
    const found = volumes.get(claim.spec.volumeName);
    if (!found) return failure(`failed to fetch PV ${JSON.stringify(claim.spec.volumeName)} from API server`);
    return found.spec?.claimRef?.uid === claim.metadata?.uid ? found : failure(`PV ${found.metadata?.name} is bound to another claim`);
  }

  /** Marks an attachable volume as in use. Returns whether it is attached, or need not be. */
  #isAttached(agent: Agent, record: PodRecord, volume: Frozen<Volume>): boolean {
    const {drivers, driver, enqueueNode} = this.#parts;
    const {csi} = volume.spec ?? {};
    if (!csi || drivers.get(csi.driver)?.spec.attachRequired === false) return true;
    const name = `${driver.naming.key('csi')}/${csi.driver}^${csi.volumeHandle}`;
    const users = agent.volumesInUse.get(name) ?? new Set<string>();
    if (users.size === 0) enqueueNode(agent.machine.name);
    agent.volumesInUse.set(name, users.add(record.key));
    const {status} = driver.nodes.get(agent.machine.name) ?? ({} as Frozen<Node>);
    // A volume is attached only after its node has reported that it uses it.
    if (!status?.volumesInUse?.includes(name)) return false;
    return status.volumesAttached?.some(attached => attached.name === name) ?? false;
  }

  /** Marks the volumes of a pod that was running before a restart as in use. */
  restore(agent: Agent, record: PodRecord): void {
    for (const volume of claimedVolumes(record.pod)) {
      const found = this.#volumeOf(record.pod, volume);
      if (typeof found !== 'string') this.#isAttached(agent, record, found);
    }
  }

  /** Unmounts the volumes of a finished pod. */
  release(agent: Agent, record: PodRecord): void {
    this.#waiting.delete(record.key);
    for (const {name} of record.mounting?.waiting ?? []) this.#parts.driver.steps.forget(`${record.uid}/${name}`, 'mount');
    for (const [name, users] of agent.volumesInUse) {
      if (!users.delete(record.key) || users.size > 0) continue;
      agent.volumesInUse.delete(name);
      this.#parts.enqueueNode(agent.machine.name);
    }
  }
}

const claimedVolumes = (pod: Frozen<Pod>): readonly Frozen<PodVolume>[] =>
  (pod.spec?.volumes ?? []).filter(volume => claimOfVolume(pod, volume) !== undefined);
