// The ControllerRevisions of a set: finds or creates that of the template. reconcile.ts deletes those beyond the
// history limit.

import {
  createRevision,
  newRevision,
  nextRevision,
  renumbered,
  revisionHashLabel,
  sameRevision,
  templatePatch,
  templateOf,
  type ControllerRevision,
  type RevisionOf,
} from '#controllers/shared/children/revisions.js';
import {sameContent, sameInSteps} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';
import type {Client} from '#src/client/client.js';
import {defaultPodTemplate} from '#src/model/pod/defaults.js';
import type {StatefulSet} from './kinds.js';

type Revision = Frozen<ControllerRevision>;

/** The current and the update revision of a set. */
export interface RevisionPair {
  /** The revision of the last completed rollout. */
  readonly current: Revision;
  /** The revision of the template. */
  readonly update: Revision;
  readonly collisionCount: number;
}

/** Numeric hashes are compared: equal data may have different collision counts. */
const hashNumber = ({metadata}: Revision, label: string): number | undefined => {
  const text = metadata?.labels?.[label];
  return text !== undefined && /^[+-]?\d+$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? Number(text) : undefined;
};

const isEqual = function* (a: Revision, b: Revision, label: string): Steps<boolean> {
  const [left, right] = [hashNumber(a, label), hashNumber(b, label)];
  return (left === undefined || right === undefined || left === right) && (yield* sameRevision(a, b));
};

/** Returns the newest revision that is equal to another. */
const lastEqual = function* (revisions: readonly Revision[], to: Revision, label: string): Steps<Revision | undefined> {
  for (const revision of revisions.toReversed()) if (yield* isEqual(revision, to, label)) return revision;
  return undefined;
};

/** Returns a template with the current defaults applied. */
const filledIn = function* (template: Frozen<PodTemplateSpec>): Steps<PodTemplateSpec> {
  const copy = (yield* parseInSteps(yield* encodedInSteps(template))) as PodTemplateSpec;
  defaultPodTemplate(copy);
  yield;
  return copy;
};

/**
 * Whether a revision restores the set's template, though it may be stored differently: by another release, or before a
 * field had a default.
 */
const isSemanticallyEqual = function* (set: StatefulSet, revision: Revision): Steps<boolean> {
  const template = templateOf(revision);
  return template !== undefined && (yield* sameInSteps(yield* filledIn(template), yield* filledIn(set.spec!.template), sameContent));
};

export interface RevisionsOptions {
  /** Whether a semantically equal revision is reused. */
  readonly semanticComparison: boolean;
  readonly client: Client;
  readonly pieces: Yielder;
  /** The set's revisions in order. */
  readonly revisions: readonly Revision[];
}

/**
 * Returns the revision of the set's template: an existing one, renumbered as the newest if necessary, or a new one.
 * Undefined where a new one would be needed for a set that is being deleted.
 */
export const revisionPairOf = async (
  set: StatefulSet,
  {client, pieces, revisions, semanticComparison}: RevisionsOptions,
): Promise<RevisionPair | undefined> => {
  const {naming} = client;
  const number = nextRevision(revisions);
  const desired: RevisionOf = {
    parent: set,
    kind: kinds.statefulSets,
    labels: set.spec?.template.metadata?.labels ?? {},
    patch: await runStepsYielding(templatePatch(set.spec!.template), pieces),
    revision: number,
    collisionCount: set.status?.collisionCount ?? 0,
    naming,
  };
  const label = revisionHashLabel(naming);
  const candidate = await runStepsYielding(newRevision(desired), pieces);
  const latest = revisions.at(-1);
  const equal = await runStepsYielding(lastEqual(revisions, candidate, label), pieces);
  const currentOr = (update: Revision) => revisions.find(({metadata}) => metadata?.name === set.status?.currentRevision) ?? update;
  const at = (update: Revision, collisionCount = set.status?.collisionCount ?? 0): RevisionPair => ({
    update,
    current: currentOr(update),
    collisionCount,
  });
  if (equal && latest && (await runStepsYielding(isEqual(latest, equal, label), pieces))) return at(latest);
  if (set.metadata?.deletionTimestamp) return equal && at(equal);
  if (equal) return at(await renumbered(client, equal, number));
  if (semanticComparison && latest && (await runStepsYielding(isSemanticallyEqual(set, latest), pieces))) return at(latest);
  const {revision, collisionCount} = await createRevision(client, desired, pieces);
  return at(revision, collisionCount);
};
