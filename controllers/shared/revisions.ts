import {canonicalJson} from '#src/base/canonical-json.js';
import type {Lister} from '#informers/lister.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type Kind, type ObjectOf} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {PodTemplateSpec} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isAlreadyExists, isConflict} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {KubeObject} from '#src/api/types.js';
import {mostOf} from '#src/base/extremes.js';
import type {Client} from '#src/client/client.js';
import {controllerRefTo} from '#src/model/owners.js';
import {templateHash} from '#src/model/template-hash.js';
import {possibleChildren} from './children.js';

export type ControllerRevision = ObjectOf<typeof kinds.controllerRevisions>;

const maxPrefixLength = 223;

/** The label that carries the hash of a revision's data. */
export const revisionHashLabel = (naming: Naming): string => naming.subKey('controller', 'hash');

/** What a revision keeps of a workload: the patch that brings its template back. Its keys are in order: clients tell the present revision by its bytes. */
export const templatePatch = (template: Frozen<PodTemplateSpec>): object => JSON.parse(canonicalJson({spec: {template: {...template, $patch: 'replace'}}})) as object;

/** The template that a revision keeps; undefined where it keeps something else. */
export const templateOf = ({data}: Frozen<ControllerRevision>): Frozen<PodTemplateSpec> | undefined => {
  const kept = (data as {spec?: {template?: Frozen<PodTemplateSpec> & {$patch?: string}}} | undefined)?.spec?.template;
  if (!kept) return undefined;
  const {$patch: _, ...template} = kept;
  return template;
};

/** The workload with the template that a revision keeps. */
export const withRevision = <T extends KubeObject & {spec?: {template: PodTemplateSpec}}>(workload: Frozen<T>, revision: Frozen<ControllerRevision>): Frozen<T> => {
  const template = templateOf(revision);
  return template ? ({...workload, spec: {...workload.spec, template}} as Frozen<T>) : workload;
};

export interface RevisionOf {
  readonly parent: Frozen<KubeObject>;
  readonly kind: Kind;
  /** The labels of the parent's template. */
  readonly labels: Readonly<Record<string, string>>;
  readonly data: object;
  readonly revision: number;
  readonly collisionCount?: number | undefined;
  /** The label for the hash; `revisionHashLabel` unless given. */
  readonly hashLabel?: string;
  readonly naming: Naming;
}

const revisionName = (parent: Frozen<KubeObject>, hash: string): string => `${(parent.metadata?.name ?? '').slice(0, maxPrefixLength)}-${hash}`;

/** A revision that is not stored yet. */
export const newRevision = ({parent, kind, labels, data, revision, collisionCount, naming, hashLabel = revisionHashLabel(naming)}: RevisionOf): ControllerRevision => {
  const hash = templateHash(data, collisionCount);
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

/** The revisions among which a parent finds its history: its own and orphans, if it selects their labels. The oldest first. */
export const revisionsOf = (lister: Lister<ControllerRevision>, parent: Frozen<KubeObject>, selector: LabelSelector): Frozen<ControllerRevision>[] =>
  possibleChildren(lister, parent, selector)
    .filter(({metadata}) => selector.matches(metadata?.labels))
    .sort(byRevision);

/** The lower number first, then the older, then by name. */
export const byRevision = (a: Frozen<ControllerRevision>, b: Frozen<ControllerRevision>): number =>
  a.revision - b.revision || createdAt(a) - createdAt(b) || ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);

const createdAt = ({metadata}: Frozen<ControllerRevision>): number => parseTime(metadata?.creationTimestamp) ?? 0;

/** The number of the next revision. */
export const nextRevision = (revisions: readonly Frozen<ControllerRevision>[]): number => 1 + Math.max(0, mostOf(revisions.map(({revision}) => revision)));

/** Whether two revisions keep the same. */
export const sameRevision = (a: Frozen<ControllerRevision>, b: Frozen<ControllerRevision>): boolean => sameJson(a.data, b.data);

/**
 * Stores a revision. Where its name is taken by another content the collision count goes up and a new name is made; `collisionCount` of the answer is
 * the parent's from then on. A revision of that name with the same content is taken as it is.
 */
export const createRevision = async (client: Client, of: RevisionOf): Promise<{readonly revision: ControllerRevision; readonly collisionCount: number}> => {
  const resource = client.resource(kinds.controllerRevisions);
  const {namespace = ''} = of.parent.metadata ?? {};
  // The label keeps the hash it was first given: it tells the content, not the name.
  const first = of.collisionCount ?? 0;
  const made = newRevision({...of, collisionCount: first});
  for (let collisionCount = first; ; collisionCount++) {
    const name = revisionName(of.parent, templateHash(of.data, collisionCount));
    try {
      return {revision: await resource.create({...made, metadata: {...made.metadata, name}}), collisionCount};
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const existing = await resource.get(name, {namespace});
    if (sameRevision(existing, made)) return {revision: existing, collisionCount};
  }
};

const maxAttempts = 5;

/** Gives a stored revision another number, whatever else changes about it meanwhile. */
export const renumbered = async (client: Client, revision: Frozen<ControllerRevision>, number: number): Promise<Frozen<ControllerRevision>> => {
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

/** The revisions to be deleted so that no more than `limit` remain beside those in use; the oldest of them. `revisions` are in order. */
export const surplusRevisions = (
  revisions: readonly Frozen<ControllerRevision>[],
  limit: number,
  isLive: (revision: Frozen<ControllerRevision>) => boolean,
): readonly Frozen<ControllerRevision>[] => {
  const idle = revisions.filter(revision => !isLive(revision));
  return idle.slice(0, Math.max(0, idle.length - limit));
};
