import type {Index} from '#informers/lister.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {wireMicroTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import {defineController, every, mapped, requeueAfter, sameKey, settled, singletonKey} from '#src/runtime/controller.js';
import {
  bestCandidate,
  canBePinged,
  hasExpired,
  isDueForPing,
  isLeaseOver,
  isPinged,
  isPresent,
  mayAnswer,
  oldestEmulationVersion,
  strategyOf,
  type Candidate,
} from './candidates.js';

/**
 * How often a lease with candidates is looked at, how long candidates have to answer, and how long an elected leader
 * has to take its lease over.
 */
const periodMs = 5_000;
const answerMs = 5_000;
const handoverSeconds = 5;

const leaseKey = ({metadata, spec}: Candidate): ObjectKey => ({namespace: metadata?.namespace ?? '', name: spec?.leaseName ?? ''});

/** Candidates by the lease that they could hold. */
const byLease: Index<ObjectOf<typeof kinds.leaseCandidates>> = {
  name: 'lease',
  values(candidate) {
    const {namespace, name} = leaseKey(candidate);
    return [`${namespace}/${name}`];
  },
};

const holderOf = ({spec}: Frozen<Lease>): string => spec?.holderIdentity ?? '';

const isElectionNeeded = (candidates: readonly Candidate[], lease: Frozen<Lease> | undefined, now: number): boolean => {
  if (!lease || isLeaseOver(lease, now) || !holderOf(lease)) return true;
  if (candidates.some(candidate => isDueForPing(candidate, now))) return true;
  if (strategyOf(candidates) !== oldestEmulationVersion) return false;
  const best = bestCandidate(candidates);
  return best !== undefined && best !== holderOf(lease);
};

/** The outcome of an election: no holder if the strategy is another controller's. */
interface Outcome {
  readonly strategy: string;
  readonly holder: string | undefined;
}

/** Returns the fields that an outcome changes in a lease; undefined if there are none. */
const changedSpec = ({spec = {}}: Lease, {strategy, holder}: Outcome, now: number): Lease['spec'] => {
  const current = spec.holderIdentity ?? '';
  const isFree = !current || (isLeaseOver({spec}, now) && current !== holder);
  if (holder !== undefined && isFree) {
    const {preferredHolder: _, acquireTime: __, ...kept} = spec;
    return {...kept, strategy, holderIdentity: holder, renewTime: wireMicroTime(now), leaseDurationSeconds: handoverSeconds};
  }
  const wanted = {...spec, strategy, ...(holder !== undefined && holder !== current ? {preferredHolder: holder} : {})};
  return wanted.strategy === spec.strategy && wanted.preferredHolder === spec.preferredHolder ? undefined : wanted;
};

/** Pings candidates that were not renewed lately. Returns whether responses are outstanding. */
const ping = async (client: Client, candidates: readonly Candidate[], now: number): Promise<boolean> => {
  let waits = false;
  for (const candidate of candidates) {
    if (mayAnswer(candidate, now, answerMs)) waits = true;
    else if (!isPresent(candidate, now, answerMs) && canBePinged(candidate, now, answerMs)) {
      waits = true;
      const pinged = {...candidate, spec: {...candidate.spec!, pingTime: wireMicroTime(now)}};
      await client.resource(kinds.leaseCandidates).update(pinged as ObjectOf<typeof kinds.leaseCandidates>);
    }
  }
  return waits;
};

/**
 * Elects the holder of each lease that has LeaseCandidates (KEP-4355): asks the candidates whether they are there,
 * creates the lease for the best one, or names it as preferred holder of a lease that another one holds, which then
 * lets it expire. Leases without candidates are left alone.
 */
export const leaderElectionController = defineController({
  doc: 'Elects leaders among candidates.',
  name: 'leader-election-controller',
  watches: [sameKey(kinds.leases), mapped(kinds.leaseCandidates, ({object}) => (isPinged(object) ? [] : [leaseKey(object)]))],
  workers: 1,
  create({lister, client, clock}) {
    const leases = lister(kinds.leases);
    const allCandidates = lister(kinds.leaseCandidates);

    const write = async (namespace: string, name: string, outcome: Outcome): Promise<void> => {
      const resource = client.resource(kinds.leases);
      const {strategy, holder} = outcome;
      const spec = {
        strategy,
        leaseDurationSeconds: handoverSeconds,
        renewTime: wireMicroTime(clock.now()),
        ...(holder === undefined ? {} : {holderIdentity: holder}),
      };
      try {
        await resource.create({metadata: {namespace, name}, spec});
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
        const found = await resource.get(name, {namespace});
        const changed = changedSpec(found, outcome, clock.now());
        if (changed) await resource.update({...found, spec: changed});
      }
    };

    return async ({namespace, name}, {log}) => {
      const now = clock.now();
      const candidates = allCandidates.by(byLease, `${namespace}/${name}`).filter(candidate => !hasExpired(candidate, now));
      if (candidates.length === 0) return settled;
      try {
        if (!isElectionNeeded(candidates, leases.get({namespace, name}), now)) return requeueAfter(periodMs);
        if (await ping(client, candidates, now)) return requeueAfter(periodMs);
        const present = candidates.filter(candidate => isPresent(candidate, now, answerMs));
        if (present.length === 0) throw new Error('no available candidates');
        const strategy = strategyOf(present);
        const holder = strategy === oldestEmulationVersion ? bestCandidate(present) : undefined;
        await write(namespace, name, {strategy, holder});
      } catch (error) {
        if (isConflict(error)) throw error; // The caches are behind.
        log.warn({err: error}, 'the election was not completed');
      }
      return requeueAfter(periodMs);
    };
  },
});

/** Deletes candidates that were not renewed for half an hour. */
export const leaseCandidateCollector = defineController({
  doc: 'Deletes expired candidates of leader elections.',
  name: 'lease-candidate-garbage-collector',
  watches: [every('1h', () => [singletonKey])],
  reads: [kinds.leaseCandidates],
  workers: 1,
  create({lister, client, clock, enqueue}) {
    const candidates = lister(kinds.leaseCandidates);
    const resource = client.resource(kinds.leaseCandidates);
    enqueue(singletonKey);
    return async () => {
      for (const {metadata = {}} of candidates.list().filter(candidate => hasExpired(candidate, clock.now()))) {
        const {namespace = '', name = ''} = metadata;
        const found = await resource.get(name, {namespace}).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
          return undefined;
        });
        if (!found || !hasExpired(found, clock.now())) continue;
        const {uid = '', resourceVersion = ''} = found.metadata ?? {};
        await resource.delete(name, {namespace, preconditions: {uid, resourceVersion}}).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }
      return settled;
    };
  },
});
