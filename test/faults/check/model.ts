// One object as a register with compare-and-set: what each operation answers in a state, and the state after it.

import {isSame, type Content} from '#test/faults/history/content.js';
import type {Operation} from '#test/faults/history/records.js';

/** The state of one object. `isExact` is false after a write whose revision nobody saw: it is above `revision` then. */
export interface State {
  readonly revision: number;
  readonly isExact: boolean;
  readonly content?: Content | undefined;
}

export const absent: State = {revision: 0, isExact: true};

/** Whether the state may have this revision. */
const mayBe = ({revision, isExact}: State, asked: number): boolean => (isExact ? revision === asked : asked > revision);

/** The state after a write, unless its revision is not above that of the state. */
const written = (state: State, content: Content | undefined, revision: number | undefined): State | undefined => {
  if (revision === undefined) return {revision: state.revision, isExact: false, content};
  return revision > state.revision ? {revision, isExact: true, content} : undefined;
};

/**
 * The content that a write makes, without the uid of what it creates; undefined if it does not take place in this
 * state.
 */
const contentAfter = ({verb, wrote, expected}: Operation, state: State): Content | undefined => {
  const old = state.content;
  switch (verb) {
    case 'create':
      return old ? undefined : wrote;
    case 'update':
      return old && mayBe(state, expected!) && (old.uid === undefined || old.uid === wrote!.uid) ? wrote : undefined;
    case 'patch':
      return old && {...old, p: wrote!.p};
    case 'apply':
      return {...old, a: wrote!.a};
    default:
      return undefined;
  }
};

/** Whether the operation only reads, or was answered without effect. */
export const isRead = ({verb, outcome}: Operation): boolean => verb === 'get' || (outcome !== 'ok' && outcome !== 'unknown');

/**
 * Returns the state after the operation took effect with the answer it got, or undefined if it cannot have in this
 * state.
 */
export const after = (operation: Operation, state: State): State | undefined => {
  const {verb, outcome, expected, revision, content} = operation;
  switch (outcome) {
    case 'exists':
      return state.content && state;
    case 'missing':
      return state.content ? undefined : state;
    case 'conflict':
      // A patch gives up after a number of conflicts with others, whatever the state is in the end. An update of a
      // deleted object fails by its uid.
      return verb === 'patch' || verb === 'apply' || !(state.content && state.isExact && state.revision === expected) ? state : undefined;
    case 'refused':
      return state;
    default:
  }
  if (verb === 'get')
    return state.content && content && isSame(state.content, content) && mayBe(state, revision!)
      ? {revision: revision!, isExact: true, content}
      : undefined;
  if (verb === 'delete') {
    const isTheSame = !content?.uid || !state.content?.uid || content.uid === state.content.uid;
    return state.content && isTheSame && (expected === undefined || mayBe(state, expected))
      ? written(state, undefined, revision)
      : undefined;
  }
  const made = contentAfter(operation, state);
  if (!made) return undefined;
  if (outcome === 'unknown') return written(state, state.content ? {...made, uid: made.uid ?? state.content.uid} : made, revision);
  return isSame(made, content!) ? written(state, content, revision) : undefined;
};
