// The versions of all objects that anybody saw, in order of revision: what lists and watches are compared with.

import {isSame, shown, type Content} from '#test/faults/history/content.js';

/** One state of one object: without content from its deletion on. */
export interface Version {
  readonly key: string;
  readonly revision: number;
  readonly content?: Content | undefined;
  /** The version of the same key before, if it has content. */
  previous?: Version | undefined;
}

/** An interval of revisions of which a watcher saw all events: after `after`, up to `to`. */
export interface Covered {
  readonly after: number;
  readonly to: number;
}

export class Versions {
  readonly #byRevision = new Map<number, Version>();
  #sorted: Version[] = [];
  #byKey = new Map<string, Version[]>();
  #covered: Covered[] = [];
  readonly deletions = new Map<string, Version>();

  /** Notes what somebody saw. Returns a problem if somebody else saw something else at this revision. */
  note(key: string, revision: number, content: Content | undefined, last?: Content): string | undefined {
    const known = this.#byRevision.get(revision);
    if (!known) {
      const version = {key, revision, content};
      this.#byRevision.set(revision, version);
      if (content === undefined && last?.uid !== undefined) {
        const before = this.deletions.get(last.uid);
        this.deletions.set(last.uid, version);
        if (before) return `${key} with uid ${last.uid} was deleted twice: at ${before.revision} and at ${revision}`;
      }
      return undefined;
    }
    if (known.key !== key) return `revision ${revision} was given to ${known.key} and to ${key}`;
    if (known.content === undefined || content === undefined)
      return known.content === content ? undefined : `revision ${revision} of ${key} was seen as a deletion and as a state`;
    return isSame(known.content, content)
      ? undefined
      : `revision ${revision} of ${key} was seen as ${shown(known.content)} and as ${shown(content)}`;
  }

  /** Sorts what was noted. `covered` are the intervals that watchers saw whole. */
  settle(covered: readonly Covered[]): void {
    this.#sorted = [...this.#byRevision.values()].sort((a, b) => a.revision - b.revision);
    this.#byKey = new Map();
    for (const version of this.#sorted) {
      const versions = this.#byKey.get(version.key) ?? [];
      const last = versions.at(-1);
      version.previous = last?.content === undefined ? undefined : last;
      versions.push(version);
      this.#byKey.set(version.key, versions);
    }
    this.#covered = [];
    for (const {after, to} of [...covered].sort((a, b) => a.after - b.after)) {
      const last = this.#covered.at(-1);
      if (last && after <= last.to) this.#covered[this.#covered.length - 1] = {after: last.after, to: Math.max(last.to, to)};
      else this.#covered.push({after, to});
    }
    // A history begins with an empty collection, so that nothing was before the first version.
    const [first] = this.#covered;
    if (first && first.after < (this.#sorted[0]?.revision ?? 0)) this.#covered[0] = {after: 0, to: first.to};
  }

  get all(): readonly Version[] {
    return this.#sorted;
  }

  /** Whether every version after `after` up to `to` is known. */
  isCovered(after: number, to: number): boolean {
    if (after >= to) return true;
    const index = before(this.#covered, after, interval => interval.after);
    return index >= 0 && this.#covered[index]!.to >= to;
  }

  keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** Returns the last version of a key at a revision, deletions included. */
  at(key: string, revision: number): Version | undefined {
    const versions = this.#byKey.get(key) ?? [];
    return versions[before(versions, revision, version => version.revision)];
  }

  /** Returns the position in `all` of the first version after a revision. */
  firstAfter(revision: number): number {
    return before(this.#sorted, revision, version => version.revision) + 1;
  }
}

/** Returns the index of the last element whose number is at most `bound`; -1 if there is none. */
const before = <T>(sorted: readonly T[], bound: number, numberOf: (one: T) => number): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numberOf(sorted[middle]!) <= bound) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};
