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
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
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

type Context = Pick<KeyedContext, 'lister' | 'writer' | 'client' | 'clock' | 'naming'>;

/** The histories of daemon sets, as controller revisions. */
export class Histories {
  readonly #context: Context;
  readonly #cached;
  readonly #claim;
  readonly #pieces: Yielder;

  constructor(context: Context) {
    const {client, clock, lister} = context;
    this.#context = context;
    this.#cached = indexingChildren(lister(kinds.controllerRevisions));
    this.#claim = claimer({client, parents: kinds.daemonSets, children: kinds.controllerRevisions});
    this.#pieces = new Yielder(clock);
  }

  /**
   * Returns the history of a set, with the current template as the newest revision. `podsOf` is called when pods have
   * to be relabelled.
   */
  async of(set: DaemonSet, selector: LabelSelector, podsOf: () => Promise<readonly Frozen<Pod>[]>): Promise<History> {
    const {client, naming} = this.#context;
    const claimed = await this.#claim(set, possibleChildren(this.#cached, set, selector), {selector});
    const own = await Promise.all(claimed.map(revision => this.#withHash(revision)));
    const {template} = set.spec!;
    const desired = {
      parent: set,
      kind: kinds.daemonSets,
      labels: template.metadata?.labels ?? {},
      patch: await runStepsYielding(templatePatch(template), this.#pieces),
      hashLabel,
      naming,
    };
    const made = await runStepsYielding(newRevision({...desired, revision: 0, collisionCount: set.status?.collisionCount}), this.#pieces);
    const [old, current]: [Revision[], Revision[]] = [[], []];
    for (const revision of own.sort(byRevision)) ((await this.#isSame(revision, made)) ? current : old).push(revision);
    const number = nextRevision(old);
    let now: Revision;
    if (current.length === 0) now = await this.#create(set, {...made, revision: number});
    else {
      now = await this.#deduplicate(current, podsOf);
      if (now.revision < number) now = await renumbered(client, now, number);
    }
    return {hash: now.metadata?.labels?.[hashLabel] ?? '', old};
  }

  /** Deletes the oldest revisions beyond the limit that no pod uses. */
  async forget(set: DaemonSet, old: readonly Revision[], pods: readonly Frozen<Pod>[]): Promise<void> {
    let surplus = old.length - (set.spec?.revisionHistoryLimit ?? 10);
    if (surplus <= 0) return;
    const live = new Set(pods.map(({metadata}) => metadata?.labels?.[hashLabel]).filter(Boolean));
    for (const revision of old) {
      if (surplus <= 0) return;
      if (live.has(revision.metadata?.labels?.[hashLabel])) continue;
      await this.#revisions.delete(revision);
      surplus--;
    }
  }

  get #revisions() {
    return this.#context.writer(kinds.controllerRevisions);
  }

  #isSame(a: Revision, b: Revision): Promise<boolean> {
    return runStepsYielding(sameRevision(a, b), this.#pieces);
  }

  async #withHash(revision: Revision): Promise<Revision> {
    const {name = '', uid, labels} = revision.metadata ?? {};
    if (labels?.[hashLabel] !== undefined) return revision;
    return this.#revisions.patch(revision, 'strategic', {metadata: {uid, labels: {[hashLabel]: name}}});
  }

  /** The next sync will use another name for the template. */
  async #countCollision(set: DaemonSet): Promise<void> {
    const {client, writer} = this.#context;
    const {namespace, name} = keyOf(set);
    const live = await client.resource(kinds.daemonSets).get(name, {namespace});
    const [known, seen] = [live.status?.collisionCount, set.status?.collisionCount];
    if (known !== seen)
      throw new Error(
        `found a stale collision count (${seen}, expected ${known}) of DaemonSet "${name}" while processing; will retry until it is updated`,
      );
    await writer(kinds.daemonSets).updateStatus({...live, status: {...live.status!, collisionCount: (known ?? 0) + 1}} as ObjectOf<
      typeof kinds.daemonSets
    >);
  }

  async #create(set: DaemonSet, made: ControllerRevision): Promise<Revision> {
    try {
      return await this.#revisions.create(made);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const {namespace, name} = keyOf(made);
      const existing = await this.#context.client.resource(kinds.controllerRevisions).get(name, {namespace});
      if (await this.#isSame(existing, made)) return existing;
      await this.#countCollision(set);
      throw error;
    }
  }

  async #relabel(pod: Frozen<Pod>, hash: string): Promise<void> {
    if (pod.metadata?.labels?.[hashLabel] === hash) return;
    await this.#context.writer(kinds.pods).patch(pod, 'strategic', {metadata: {uid: pod.metadata?.uid, labels: {[hashLabel]: hash}}});
  }

  /** Keeps the highest of several revisions of one template, and relabels the pods of the others. */
  async #deduplicate(current: readonly Revision[], podsOf: () => Promise<readonly Frozen<Pod>[]>): Promise<Revision> {
    const kept = current.at(-1)!;
    if (current.length === 1) return kept;
    const hash = kept.metadata?.labels?.[hashLabel] ?? '';
    for (const pod of await podsOf()) await this.#relabel(pod, hash);
    for (const revision of current.slice(0, -1)) await this.#revisions.delete(revision);
    return kept;
  }
}
