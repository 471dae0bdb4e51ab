import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import {
  byRevision,
  newRevision,
  nextRevision,
  renumbered,
  sameRevision,
  templatePatch,
  type ControllerRevision,
} from '#controllers/shared/children/revisions.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isAlreadyExists} from '#src/api/status.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {hashLabel, type DaemonSet} from './kinds.js';

type Revision = Frozen<ControllerRevision>;

/** The revision history of a daemon set. */
export interface History {
  /** The hash of the current template. */
  readonly hash: string;
  /** The old revisions, in order. */
  readonly old: readonly Revision[];
}

export interface Histories {
  /** Returns the history of a set, with the current template as the newest revision. `podsOf` is called when pods have to be relabelled. */
  of(set: DaemonSet, selector: LabelSelector, podsOf: () => Promise<readonly Frozen<Pod>[]>): Promise<History>;
  /** Deletes the oldest revisions beyond the limit that no pod uses. */
  forget(set: DaemonSet, old: readonly Revision[], pods: readonly Frozen<Pod>[]): Promise<void>;
}

export const histories = ({lister, writer, client, naming}: Pick<KeyedContext, 'lister' | 'writer' | 'client' | 'naming'>): Histories => {
  const cached = indexingChildren(lister(kinds.controllerRevisions));
  const revisions = writer(kinds.controllerRevisions);
  const resource = client.resource(kinds.controllerRevisions);
  const sets = client.resource(kinds.daemonSets);
  const claim = claimer({client, parents: kinds.daemonSets, children: kinds.controllerRevisions});

  const withHash = async (revision: Revision): Promise<Revision> => {
    const {name = '', uid, labels} = revision.metadata ?? {};
    if (labels?.[hashLabel] !== undefined) return revision;
    return revisions.patch(revision, 'strategic', {metadata: {uid, labels: {[hashLabel]: name}}});
  };

  /** The next sync will use another name for the template. */
  const countCollision = async (set: DaemonSet): Promise<void> => {
    const {namespace, name} = keyOf(set);
    const live = await sets.get(name, {namespace});
    const [known, seen] = [live.status?.collisionCount, set.status?.collisionCount];
    if (known !== seen)
      throw new Error(
        `found a stale collision count (${seen}, expected ${known}) of DaemonSet "${name}" while processing; will retry until it is updated`,
      );
    await writer(kinds.daemonSets).updateStatus({...live, status: {...live.status!, collisionCount: (known ?? 0) + 1}} as ObjectOf<
      typeof kinds.daemonSets
    >);
  };

  const create = async (set: DaemonSet, made: ControllerRevision): Promise<Revision> => {
    try {
      return await revisions.create(made);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const {namespace, name} = keyOf(made);
      const existing = await resource.get(name, {namespace});
      if (sameRevision(existing, made)) return existing;
      await countCollision(set);
      throw error;
    }
  };

  const relabel = async (pod: Frozen<Pod>, hash: string): Promise<void> => {
    if (pod.metadata?.labels?.[hashLabel] === hash) return;
    await writer(kinds.pods).patch(pod, 'strategic', {metadata: {uid: pod.metadata?.uid, labels: {[hashLabel]: hash}}});
  };

  /** Keeps the highest of several revisions of one template, and relabels the pods of the others. */
  const deduplicate = async (current: readonly Revision[], podsOf: () => Promise<readonly Frozen<Pod>[]>): Promise<Revision> => {
    const kept = current.at(-1)!;
    if (current.length === 1) return kept;
    const hash = kept.metadata?.labels?.[hashLabel] ?? '';
    for (const pod of await podsOf()) await relabel(pod, hash);
    for (const revision of current.slice(0, -1)) await revisions.delete(revision);
    return kept;
  };

  return {
    async of(set, selector, podsOf) {
      const own = await Promise.all((await claim(set, possibleChildren(cached, set, selector), {selector})).map(withHash));
      const {template} = set.spec!;
      const wanted = {
        parent: set,
        kind: kinds.daemonSets,
        labels: template.metadata?.labels ?? {},
        data: templatePatch(template),
        hashLabel,
        naming,
      };
      const made = newRevision({...wanted, revision: 0, collisionCount: set.status?.collisionCount});
      const old = own.filter(revision => !sameRevision(revision, made)).sort(byRevision);
      const current = own.filter(revision => sameRevision(revision, made)).sort(byRevision);
      const number = nextRevision(old);
      let now: Revision;
      if (current.length === 0) now = await create(set, {...made, revision: number});
      else {
        now = await deduplicate(current, podsOf);
        if (now.revision < number) now = await renumbered(client, now, number);
      }
      return {hash: now.metadata?.labels?.[hashLabel] ?? '', old};
    },
    async forget(set, old, pods) {
      let surplus = old.length - (set.spec?.revisionHistoryLimit ?? 10);
      if (surplus <= 0) return;
      const live = new Set(pods.map(({metadata}) => metadata?.labels?.[hashLabel]).filter(Boolean));
      for (const revision of old) {
        if (surplus <= 0) return;
        if (live.has(revision.metadata?.labels?.[hashLabel])) continue;
        await revisions.delete(revision);
        surplus--;
      }
    },
  };
};
