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
} from '#controllers/shared/revisions.js';
import {sameContent} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import type {Client} from '#src/client/client.js';
import {defaultPodTemplate} from '#src/model/pod/defaults.js';
import type {StatefulSet} from './kinds.js';

type Revision = Frozen<ControllerRevision>;

/** Between which two templates a set is. */
export interface RevisionPair {
  /** What the set was at when it last was at one. */
  readonly current: Revision;
  /** What its template says. */
  readonly update: Revision;
  readonly collisionCount: number;
}

/** Hashes that are plain numbers are compared: data of the same look may still be of different collisions. */
const hashNumber = ({metadata}: Revision, label: string): number | undefined => {
  const text = metadata?.labels?.[label];
  return text !== undefined && /^[+-]?\d+$/.test(text) && Math.abs(Number(text)) < 2 ** 31 ? Number(text) : undefined;
};

const isEqual = (a: Revision, b: Revision, label: string): boolean => {
  const [left, right] = [hashNumber(a, label), hashNumber(b, label)];
  return (left === undefined || right === undefined || left === right) && sameRevision(a, b);
};

/** A template as the server fills it in now, whenever it was written. */
const filledIn = (template: Frozen<PodTemplateSpec>): PodTemplateSpec => {
  const copy = structuredClone(template) as PodTemplateSpec;
  defaultPodTemplate(copy);
  return copy;
};

/** Whether a revision brings the template back that the set has, though it may be written down in other words: by another release, or before a field had a default. */
const isSemanticallyEqual = (set: StatefulSet, revision: Revision): boolean => {
  const template = templateOf(revision);
  return template !== undefined && sameContent(filledIn(template), filledIn(set.spec!.template));
};

export interface RevisionsOptions {
  /** Whether a revision that means the same as the template will do. */
  readonly semanticComparison: boolean;
  readonly client: Client;
  /** The set's revisions in order. */
  readonly revisions: readonly Revision[];
}

/**
 * The revision of the set's template: the one that is there, made the newest if it is an older one, or a new one. Undefined where a new one would have to be made for a
 * set that is being deleted.
 */
export const revisionPairOf = async (set: StatefulSet, {client, revisions, semanticComparison}: RevisionsOptions): Promise<RevisionPair | undefined> => {
  const {naming} = client;
  const number = nextRevision(revisions);
  const wanted: RevisionOf = {
    parent: set,
    kind: kinds.statefulSets,
    labels: set.spec?.template.metadata?.labels ?? {},
    data: templatePatch(set.spec!.template),
    revision: number,
    collisionCount: set.status?.collisionCount ?? 0,
    naming,
  };
  const label = revisionHashLabel(naming);
  const candidate = newRevision(wanted);
  const latest = revisions.at(-1);
  const equal = revisions.findLast(revision => isEqual(revision, candidate, label));
  const currentOr = (update: Revision) => revisions.find(({metadata}) => metadata?.name === set.status?.currentRevision) ?? update;
  const at = (update: Revision, collisionCount = set.status?.collisionCount ?? 0): RevisionPair => ({update, current: currentOr(update), collisionCount});
  if (equal && latest && isEqual(latest, equal, label)) return at(latest);
  if (set.metadata?.deletionTimestamp) return equal && at(equal);
  if (equal) return at(await renumbered(client, equal, number));
  if (semanticComparison && latest && isSemanticallyEqual(set, latest)) return at(latest);
  const {revision, collisionCount} = await createRevision(client, wanted);
  return at(revision, collisionCount);
};
