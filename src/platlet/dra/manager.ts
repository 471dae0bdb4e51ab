// Has the drivers of resource claims prepare them for pods, and undo that when the last pod of a claim has ended.
// Errors are shown to users: they name neither pods nor namespaces, which are known from where they appear.

import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {foreignText, isReservedFor, type DeviceClaim, type PodClaimName} from '#src/model/devices/pod-claims.js';
import type {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import {checkResults, messageFor} from './calls.js';
import {formatClaimCheckpoint} from './checkpoint.js';
import {ClaimInfos, claimInfoOf, type ClaimInfo, type ClaimState} from './claim-infos.js';
import type {ClaimMessage} from './messages.js';
import type {ClaimMetrics} from './metrics.js';
import type {ClaimPlugins} from './plugins.js';
import {claimNamesOf, containerCdiIds, createdClaimNamesOf, extendedClaimOf, namedClaimsOf, type ClaimGates} from './pod-claims.js';

export interface ClaimManagerParts {
  readonly plugins: Pick<ClaimPlugins, 'check' | 'prepare' | 'unprepare'>;
  readonly client: Client;
  readonly naming: Naming;
  readonly gates: ClaimGates;
  readonly claims: ClaimInfos;
  readonly file: Pick<CheckpointFile, 'write' | 'saved'>;
  readonly metrics: ClaimMetrics;
  readonly log: Log;
}

const uidOf = ({metadata}: Frozen<Pod>): string => metadata?.uid ?? '';
const namespaceOf = ({metadata}: Frozen<Pod>): string => metadata?.namespace ?? '';

/** The claims to call each driver for. */
type Batches = Map<string, ClaimMessage[]>;

const addTo = (batches: Batches, info: ClaimInfo): void => {
  for (const driver of info.drivers.keys()) batches.set(driver, [...(batches.get(driver) ?? []), messageFor(info)]);
};

/** The claims of the pods of a node. */
export class ClaimManager {
  readonly #parts: ClaimManagerParts;

  constructor(parts: ClaimManagerParts) {
    this.#parts = parts;
  }

  /** Prepares the claims of a pod that is about to start. Rejects if one cannot be used, or the signal aborts. */
  async prepare(pod: Frozen<Pod>, signal: AbortSignal): Promise<void> {
    try {
      await this.#parts.metrics.measured('PrepareResources', () => this.#prepare(pod, signal));
    } catch (error) {
      throw new Error(`prepare dynamic resources: ${messageOf(error)}`, {cause: error});
    }
  }

  async #prepare(pod: Frozen<Pod>, signal: AbortSignal): Promise<void> {
    const {plugins, gates} = this.#parts;
    const wanted: ClaimInfo[] = [];
    // Nothing is noted before all is checked: a pod that never got as far has nothing to be undone when it ends.
    for (const name of claimNamesOf(pod, gates)) {
      const info = claimInfoOf(await unlessAborted(this.#usable(pod, name), signal));
      for (const driver of info.drivers.keys()) plugins.check(driver);
      wanted.push(info);
    }
    if (wanted.length === 0) return;
    const batches: Batches = new Map();
    const unprepared = wanted.map(info => this.#join(pod, info)).filter(({isPrepared}) => !isPrepared);
    for (const info of unprepared) addTo(batches, info);
    // The pod is found by the next process then, even if this one ends before the drivers have answered.
    await this.#save();
    for (const [driver, messages] of batches) await unlessAborted(this.#prepareBatch(driver, messages, unprepared), signal);
    signal.throwIfAborted();
    for (const info of unprepared) info.isPrepared = true;
    if (unprepared.length > 0) await this.#save();
  }

  /** Returns a claim that the pod may use. */
  async #usable(pod: Frozen<Pod>, {name, generated}: PodClaimName): Promise<DeviceClaim> {
    let claim: DeviceClaim;
    try {
      claim = await this.#parts.client.resource(kinds.resourceClaims).get(name, {namespace: namespaceOf(pod)});
    } catch (error) {
      throw new Error(`fetch ResourceClaim ${name}: ${messageOf(error)}`, {cause: error});
    }
    const foreign = generated ? foreignText(pod, claim) : undefined;
    if (foreign !== undefined) throw new Error(foreign);
    if (!isReservedFor(claim, uidOf(pod)))
      throw new Error(`pod ${pod.metadata?.name} (${uidOf(pod)}) is not allowed to use ResourceClaim ${name} (${claim.metadata?.uid})`);
    return claim;
  }

  /** Notes that a pod uses a claim. Returns what is known of the claim. */
  #join(pod: Frozen<Pod>, wanted: ClaimInfo): ClaimInfo {
    const {claims} = this.#parts;
    const known = claims.get(wanted.name, wanted.namespace);
    if (known && known.uid !== wanted.uid)
      throw new Error(
        `old ResourceClaim with same name ${wanted.name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`,
      );
    if (!known) claims.add(wanted);
    const info = known ?? wanted;
    info.pods.add(uidOf(pod));
    return info;
  }

  async #prepareBatch(driver: string, messages: readonly ClaimMessage[], infos: readonly ClaimInfo[]): Promise<void> {
    const results = await this.#parts.plugins.prepare(driver, messages).catch((error: unknown) => {
      throw new Error(`NodePrepareResources: ${messageOf(error)}`, {cause: error});
    });
    for (const {uid, result} of checkResults('NodePrepareResources', messages, results)) {
      const devices = result?.devices ?? [];
      infos
        .find(info => info.uid === uid)
        ?.drivers.set(
          driver,
          devices.map(({poolName: pool, deviceName: device, shareId, requestNames: requests, cdiDeviceIds: cdiIds}) => ({
            pool,
            device,
            ...(shareId === '' ? {} : {share: shareId}),
            requests,
            cdiIds,
          })),
        );
    }
  }

  /** Undoes the preparation of the claims of a pod that has ended, unless other pods use them. May be repeated. */
  async unprepare(pod: Frozen<Pod>): Promise<void> {
    const {metrics, gates} = this.#parts;
    try {
      await metrics.measured('UnprepareResources', () => this.#unprepare(uidOf(pod), namespaceOf(pod), createdClaimNamesOf(pod, gates)));
    } catch (error) {
      throw new Error(`unprepare dynamic resources: ${messageOf(error)}`, {cause: error});
    }
  }

  async #unprepare(uid: string, namespace: string, names: readonly string[]): Promise<void> {
    const {claims, plugins} = this.#parts;
    const used = names.flatMap(name => claims.get(name, namespace) ?? []);
    if (used.length === 0) return;
    const isLast = ({pods}: ClaimInfo): boolean => [...pods].every(pod => pod === uid);
    const batches: Batches = new Map();
    for (const info of used) {
      if (isLast(info)) addTo(batches, info);
      else info.pods.delete(uid);
    }
    // A pod that begins to use such a claim in the meantime has it prepared again.
    for (const info of used) if (isLast(info)) info.isPrepared = false;
    for (const [driver, messages] of batches) {
      plugins.check(driver);
      const results = await plugins.unprepare(driver, messages).catch((error: unknown) => {
        throw new Error(`NodeUnprepareResources: ${messageOf(error)}`, {cause: error});
      });
      checkResults('NodeUnprepareResources', messages, results);
    }
    for (const info of used) {
      info.pods.delete(uid);
      if (info.pods.size === 0) claims.delete(info);
    }
    await this.#save();
  }

  /** Undoes the preparation of claims for pods other than these, which are all that the node has. */
  async reconcile(active: readonly Frozen<Pod>[]): Promise<void> {
    const uids = new Set(active.map(uidOf));
    const stale = new Map<string, ClaimInfo[]>();
    for (const info of this.#parts.claims.all)
      for (const pod of info.pods) if (!uids.has(pod)) stale.set(pod, [...(stale.get(pod) ?? []), info]);
    for (const [pod, infos] of stale)
      await this.#unprepare(
        pod,
        infos[0]!.namespace,
        infos.map(({name}) => name),
      ).catch((error: unknown) =>
        this.#parts.log.info({pod, err: error}, 'unpreparing pod resources in reconcile loop failed, will retry'),
      );
  }

  /** Returns the devices of claims that a container gets, as the runtime knows them. Throws if one is not prepared. */
  cdiIdsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): readonly string[] {
    const {claims, naming, gates} = this.#parts;
    return containerCdiIds(pod, container, {...gates, naming, get: (name, namespace) => claims.get(name, namespace)});
  }

  /** Returns the claims whose devices a container has; none if one of them is not prepared. */
  claimsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): readonly ClaimState[] {
    const {claims, gates, log} = this.#parts;
    try {
      const names = namedClaimsOf(pod, container).map(({name}) => name);
      const extended = extendedClaimOf(pod, container, gates);
      return [...names, ...(extended === undefined ? [] : [extended])].map(name => {
        const info = claims.get(name, namespaceOf(pod));
        if (!info) throw new Error(`unable to get information for ResourceClaim ${name}`);
        return info;
      });
    } catch (error) {
      log.error({err: error}, 'unable to get container claim info state');
      return [];
    }
  }

  async #save(): Promise<void> {
    const {file, claims} = this.#parts;
    file.write(formatClaimCheckpoint(claims.all));
    await file.saved();
  }
}
