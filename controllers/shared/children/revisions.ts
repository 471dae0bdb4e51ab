// Controller revisions, the history of the templates of stateful sets and daemon sets: their data, hashes, order and
// names.

import type {Lister} from '#informers/lister.js';
import {sameJson, sameInSteps} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isAlreadyExists, isConflict} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {mostOf} from '#src/base/extremes.js';
import {canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';
import type {Client} from '#src/client/client.js';
import {controllerRefTo} from '#src/model/owners.js';
import {textHashInSteps} from '#src/model/template-hash.js';
import {possibleChildren} from './children.js';

export type ControllerRevision = ObjectOf<typeof kinds.controllerRevisions>;

const maxPrefixLength = 223;

/** The label with the hash of a revision's data. */
export const revisionHashLabel = (naming: Naming): string => naming.subKey('controller', 'hash');

/** The data of a revision, and its canonical JSON, which is hashed. */
export interface RevisionData {
  readonly data: object;
  readonly text: string;
}

/** Returns the patch that restores the template. Keys are in canonical order, as clients compare revisions by bytes. */
export const templatePatch = function* (template: Frozen<PodTemplateSpec>): Steps<RevisionData> {
  const text = yield* canonicalJsonInSteps({spec: {template: {...template, $patch: 'replace'}}});
  return {data: (yield* parseInSteps(Buffer.from(text))) as object, text};
};

/** Returns the template of a revision; undefined if it has none. */
export const templateOf = ({data}: Frozen<ControllerRevision>): Frozen<PodTemplateSpec> | undefined => {
  const kept = (data as {spec?: {template?: Frozen<PodTemplateSpec> & {$patch?: string}}} | undefined)?.spec?.template;
  if (!kept) return undefined;
  const {$patch: _, ...template} = kept;
  return template;
};

/** Returns the workload with the template of a revision. */
export const withRevision = <T extends KubeObject & {spec?: {template: PodTemplateSpec}}>(
  workload: Frozen<T>,
  revision: Frozen<ControllerRevision>,
): Frozen<T> => {
  const template = templateOf(revision);
  return template ? ({...workload, spec: {...workload.spec, template}} as Frozen<T>) : workload;
};

export interface RevisionOf {
  readonly parent: Frozen<KubeObject>;
  readonly kind: Kind;
  /** The labels of the parent's template. */
  readonly labels: Readonly<Record<string, string>>;
  readonly patch: RevisionData;
  readonly revision: number;
  readonly collisionCount?: number | undefined;
  /** The label for the hash. Default `revisionHashLabel`. */
  readonly hashLabel?: string;
  readonly naming: Naming;
}

const revisionName = (parent: Frozen<KubeObject>, hash: string): string =>
  `${(parent.metadata?.name ?? '').slice(0, maxPrefixLength)}-${hash}`;

/** Returns a revision that is not stored yet. */
export const newRevision = function* ({
  parent,
  kind,
  labels,
  patch: {data, text},
  revision,
  collisionCount,
  naming,
  hashLabel = revisionHashLabel(naming),
}: RevisionOf): Steps<ControllerRevision> {
  const hash = yield* textHashInSteps(text, collisionCount);
  return {
    metadata: {
      name: revisionName(parent, hash),
      namespace: parent.metadata?.namespace ?? '',
      labels: {...labels, [hashLabel]: hash},
      annotations: {...parent.metadata?.annotations},
      ownerReferences: [controllerRefTo(parent, kind, naming)],
    },
    data,
    revision,
  };
};

/** Returns the revisions of a parent's history: its own and orphans that it selects. The oldest first. */
export const revisionsOf = (
  lister: Lister<ControllerRevision>,
  parent: Frozen<KubeObject>,
  selector: LabelSelector,
): Frozen<ControllerRevision>[] =>
  possibleChildren(lister, parent, selector)
    .filter(({metadata}) => selector.matches(metadata?.labels))
    .sort(byRevision);

/** The lower number first, then the older, then by name. */
export const byRevision = (a: Frozen<ControllerRevision>, b: Frozen<ControllerRevision>): number =>
  a.revision - b.revision || createdAt(a) - createdAt(b) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);

const createdAt = ({metadata}: Frozen<ControllerRevision>): number => parseTime(metadata?.creationTimestamp) ?? 0;

/** Returns the number of the next revision. */
export const nextRevision = (revisions: readonly Frozen<ControllerRevision>[]): number =>
  1 + Math.max(0, mostOf(revisions.map(({revision}) => revision)));

/** Whether two revisions have equal data. */
export const sameRevision = (a: Frozen<ControllerRevision>, b: Frozen<ControllerRevision>): Steps<boolean> =>
  sameInSteps(a.data, b.data, sameJson);

/**
 * Stores a revision. If its name is used by other data, the collision count is incremented for a new name; the returned
 * `collisionCount` is to be stored in the parent. An existing revision with equal data is returned.
 */
export const createRevision = async (
  client: Client,
  of: RevisionOf,
  pieces: Yielder,
): Promise<{readonly revision: ControllerRevision; readonly collisionCount: number}> => {
  const resource = client.resource(kinds.controllerRevisions);
  const {namespace = ''} = of.parent.metadata ?? {};
  // The label keeps the first hash: it identifies the data, not the name.
  const first = of.collisionCount ?? 0;
  const made = await runStepsYielding(newRevision({...of, collisionCount: first}), pieces);
  for (let collisionCount = first; ; collisionCount++) {
    const name = revisionName(of.parent, await runStepsYielding(textHashInSteps(of.patch.text, collisionCount), pieces));
    try {
      return {revision: await resource.create({...made, metadata: {...made.metadata, name}}), collisionCount};
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await resource.get(name, {namespace});
    if (await runStepsYielding(sameRevision(existing, made), pieces)) return {revision: existing, collisionCount};
  }
};

const maxAttempts = 5;

/** Changes the number of a stored revision, with retries on conflicts. */
export const renumbered = async (
  client: Client,
  revision: Frozen<ControllerRevision>,
  number: number,
): Promise<Frozen<ControllerRevision>> => {
  const resource = client.resource(kinds.controllerRevisions);
  const {namespace, name} = keyOf(revision);
  let latest = revision;
  for (let attempt = 1; ; attempt++) {
    if (latest.revision === number) return latest;
    try {
      return await resource.update({...(latest as ControllerRevision), revision: number});
    } catch (error) {
      if (!isConflict(error) || attempt >= maxAttempts) throw error;
    }
    latest = await resource.get(name, {namespace});
  }
};

/** Returns the oldest revisions beyond `limit`, not counting those in use. `revisions` are in order. */
export const surplusRevisions = (
  revisions: readonly Frozen<ControllerRevision>[],
  limit: number,
  isLive: (revision: Frozen<ControllerRevision>) => boolean,
): readonly Frozen<ControllerRevision>[] => {
  const idle = revisions.filter(revision => !isLive(revision));
  return idle.slice(0, Math.max(0, idle.length - limit));
};
