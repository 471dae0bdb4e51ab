// What the versions say about writes: each is made by one operation, which was asked for, and takes effect once;
// revisions follow time.

import {isSame, shown, valuesOf, type Content} from '#test/faults/history/content.js';
import type {Operation} from '#test/faults/history/records.js';
import type {Version, Versions} from './versions.js';
import {described} from './registers.js';

/** The value that an operation wrote and nobody else did. */
export const valueOf = ({verb, wrote}: Operation): string | undefined =>
  verb === 'patch' ? wrote?.p : verb === 'apply' ? wrote?.a : wrote?.v;

/** The values of a content that the one before did not have. */
const freshValues = (content: Content, before: Content | undefined): string[] => {
  const known = before ? valuesOf(before) : [];
  return valuesOf(content).filter(value => !known.includes(value));
};

/**
 * Gives operations whose answer has no revision that of the version they made: deletions, and writes without an answer
 * whose value was seen.
 */
export const withRevisions = (operations: readonly Operation[], versions: Versions): Operation[] => {
  const made = new Map<string, number>();
  for (const {revision, content, previous} of versions.all) {
    const fresh = content ? freshValues(content, previous?.content) : [];
    // Of several new values the last was written at this revision, and the others at some that nobody saw.
    if (fresh.length === 1) made.set(fresh[0]!, revision);
  }
  /** How many deletions may have deleted a uid: those that were answered, if any were. */
  const answered = new Map<string, number>();
  const unanswered = new Map<string, number>();
  for (const {verb, outcome, content} of operations) {
    if (verb !== 'delete' || !content?.uid) continue;
    const counts = outcome === 'ok' ? answered : outcome === 'unknown' ? unanswered : undefined;
    counts?.set(content.uid, (counts.get(content.uid) ?? 0) + 1);
  }
  return operations.map(operation => {
    const {verb, outcome, content, revision} = operation;
    if (revision !== undefined || verb === 'get') return operation;
    if (verb === 'delete') {
      const uid = content?.uid;
      if (uid === undefined || (outcome !== 'ok' && outcome !== 'unknown')) return operation;
      const isAlone = outcome === 'ok' ? true : !answered.has(uid) && unanswered.get(uid) === 1;
      return isAlone ? {...operation, revision: versions.deletions.get(uid)?.revision} : operation;
    }
    const value = valueOf(operation);
    return outcome === 'unknown' && value !== undefined && made.has(value) ? {...operation, revision: made.get(value)} : operation;
  });
};

/** Finds versions that no operation made, or that one made twice, or that were made by a refused one. */
export function* checkVersions(operations: readonly Operation[], versions: Versions): Generator<string> {
  const writers = new Map<string, Operation>();
  for (const operation of operations) {
    const value = operation.verb === 'get' || operation.verb === 'delete' ? undefined : valueOf(operation);
    if (value !== undefined) writers.set(value, operation);
  }
  const made = new Map<Operation, Version>();
  for (const version of versions.all) {
    const {key, revision, content, previous} = version;
    if (!content) {
      if (!previous && versions.isCovered(0, revision)) yield `${key} was deleted at ${revision}, when it was not there`;
      continue;
    }
    const isFollowing = versions.isCovered(previous?.revision ?? revision - 1, revision);
    const fresh = freshValues(content, previous?.content);
    if (isFollowing && previous?.content && previous.content.uid !== content.uid)
      yield `${key} changed its uid at ${revision} without a deletion`;
    if (isFollowing && previous && fresh.length !== 1)
      yield `${fresh.length} writes made revision ${revision} of ${key}: ${shown(content)} after ${shown(previous.content!)}`;
    for (const value of fresh) {
      const writer = writers.get(value);
      if (!writer || writer.key !== key) yield `nobody wrote ${value}, which revision ${revision} of ${key} holds`;
      else if (writer.outcome !== 'ok' && writer.outcome !== 'unknown')
        yield `revision ${revision} of ${key} holds what was refused: ${described(writer)}`;
      else if (isFollowing && made.has(writer))
        yield `revisions ${made.get(writer)!.revision} and ${revision} of ${key} were made by one operation: ${described(writer)}`;
      if (writer && isFollowing) made.set(writer, version);
    }
  }
}

/**
 * Finds acknowledged writes whose revision shows something else, or nothing though all revisions around it were
 * watched.
 */
export function* checkAcknowledged(operations: readonly Operation[], versions: Versions, end: number): Generator<string> {
  for (const operation of operations) {
    const {verb, outcome, key, revision, content} = operation;
    if (outcome !== 'ok' || verb === 'get') continue;
    if (verb === 'delete') {
      if (revision === undefined && versions.isCovered(0, end)) yield `an acknowledged deletion is lost: ${described(operation)}`;
      continue;
    }
    const version = versions.at(key, revision!);
    if (version?.revision !== revision || !isContent(version?.content, content))
      yield `an acknowledged write is lost: ${described(operation)}; at that revision there is ${version?.content ? shown(version.content) : 'nothing'}`;
  }
}

const isContent = (one: Content | undefined, other: Content | undefined): boolean =>
  one !== undefined && other !== undefined && isSame(one, other);

/** Finds writes with a revision that is not above that of a write that had ended before they began. */
export function* checkOrder(operations: readonly Operation[]): Generator<string> {
  const writes = operations.filter(({verb, revision, outcome}) => verb !== 'get' && revision !== undefined && outcome === 'ok');
  const ended = [...writes].sort((a, b) => a.returned - b.returned);
  let last: Operation | undefined;
  let next = 0;
  for (const write of [...writes].sort((a, b) => a.called - b.called)) {
    for (; next < ended.length && ended[next]!.returned < write.called; next++)
      if (!last || ended[next]!.revision! > last.revision!) last = ended[next];
    if (last && write.revision! <= last.revision!)
      yield `${described(write)} came after, but has no higher revision than ${described(last)}`;
  }
}
