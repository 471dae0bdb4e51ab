// The choice among the candidates of one lease (KEP-4355): pure functions of the objects and the time.

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';
import {compareVersions, isSemanticVersion} from '#src/model/semantic-version.js';

export type Candidate = Frozen<ObjectOf<typeof kinds.leaseCandidates>>;

/** The strategy that this server decides by; others are left to other controllers. */
export const oldestEmulationVersion = 'OldestEmulationVersion';

/** How long a candidate counts after its last renewal. */
const candidateLifeMs = 30 * 60_000;

const nameOf = ({metadata}: Candidate): string => metadata?.name ?? '';
const renewedAt = ({spec}: Candidate): number => parseTime(spec?.renewTime) ?? -Infinity;
const pingedAt = ({spec}: Candidate): number => parseTime(spec?.pingTime) ?? -Infinity;

export const hasExpired = (candidate: Candidate, now: number): boolean => renewedAt(candidate) + candidateLifeMs < now;

/** Whether a candidate has not answered its last ping. */
export const isPinged = (candidate: Candidate): boolean => pingedAt(candidate) > renewedAt(candidate);

/** Whether the last renewal of a candidate is so long ago that it is pinged again. */
export const isDueForPing = (candidate: Candidate, now: number): boolean => renewedAt(candidate) + candidateLifeMs / 2 < now;

/** Whether a candidate was asked within the time and may still answer. */
export const mayAnswer = (candidate: Candidate, now: number, withinMs: number): boolean =>
  isPinged(candidate) && pingedAt(candidate) + withinMs > now;

/** Whether a candidate was renewed within the time. */
export const isPresent = (candidate: Candidate, now: number, withinMs: number): boolean => renewedAt(candidate) + withinMs > now;

/** Whether a candidate that is not present can be pinged: one that did not answer the last time is not asked again. */
export const canBePinged = (candidate: Candidate, now: number, withinMs: number): boolean =>
  candidate.spec?.pingTime === undefined || (pingedAt(candidate) + withinMs < now && !isPinged(candidate));

/** Whether a lease is not held, since its time is over. */
export const isLeaseOver = ({spec}: Frozen<Lease>, now: number): boolean => {
  const renewed = parseTime(spec?.renewTime);
  const {leaseDurationSeconds: seconds} = spec ?? {};
  return renewed === undefined || typeof seconds !== 'number' || renewed + seconds * 1000 < now;
};

/** Orders candidates: the oldest emulated version first, then the oldest program, then the oldest object. */
const compareCandidates = (a: Candidate, b: Candidate): number =>
  compareVersions(a.spec?.emulationVersion ?? '', b.spec?.emulationVersion ?? '') ||
  compareVersions(a.spec?.binaryVersion ?? '', b.spec?.binaryVersion ?? '') ||
  (parseTime(a.metadata?.creationTimestamp) ?? 0) - (parseTime(b.metadata?.creationTimestamp) ?? 0) ||
  (nameOf(a) < nameOf(b) ? -1 : 1);

/**
 * Returns the name of the candidate to elect by the strategy `OldestEmulationVersion`; undefined if none states its
 * versions.
 */
export const bestCandidate = (candidates: readonly Candidate[]): string | undefined => {
  const [first, ...others] = candidates.filter(
    ({spec}) => isSemanticVersion(spec?.emulationVersion ?? '') && isSemanticVersion(spec?.binaryVersion ?? ''),
  );
  if (!first) return undefined;
  return nameOf(others.reduce((best, candidate) => (compareCandidates(candidate, best) < 0 ? candidate : best), first));
};

/**
 * Returns the strategy of the newest program among candidates, of which there must be one. Throws if programs of that
 * version differ in it.
 */
export const strategyOf = (candidates: readonly Candidate[]): string => {
  let [best] = candidates as [Candidate];
  for (const candidate of candidates.slice(1)) {
    const order = compareVersions(best.spec?.binaryVersion ?? '', candidate.spec?.binaryVersion ?? '');
    if (order < 0) best = candidate;
    else if (order === 0 && candidate.spec?.strategy !== best.spec?.strategy)
      throw new Error(
        `candidates ${JSON.stringify(nameOf(best))}, ${JSON.stringify(nameOf(candidate))} at same binary version but received differing strategies ${best.spec?.strategy}, ${candidate.spec?.strategy}`,
      );
  }
  return best.spec?.strategy ?? '';
};
