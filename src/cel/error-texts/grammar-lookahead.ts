import {grammar, type Part} from './grammar.js';
import type {TokenKind} from '#src/cel/syntax/tokens.js';

/** The parts of a rule that remain to be parsed. */
export interface Rest {
  readonly part: Part;
  readonly next: Rest | undefined;
}

/** A rule that is being parsed: the remainder of the rule that invoked it, and that rule's own caller. */
export interface Call {
  readonly rest: Rest | undefined;
  readonly outer: Call | undefined;
}

/** The tokens that a part can start with, and whether it can be empty. */
export interface First {
  readonly kinds: ReadonlySet<TokenKind>;
  readonly isNullable: boolean;
}

const partFirsts = new WeakMap<Part, First>();
let restFirsts = new WeakMap<Rest, First>();

/** Returns the first set of a part. */
export const firstOf = (part: Part): First => {
  const known = partFirsts.get(part) ?? computeFirst(part);
  partFirsts.set(part, known);
  return known;
};

const computeFirst = (part: Part): First => {
  switch (part.kind) {
    case 'token':
      return {kinds: new Set(part.of), isNullable: false};
    case 'rule':
      return firstOf(grammar[part.name]);
    case 'row':
      return firstOfRest(part.parts.reduceRight<Rest | undefined>((next, inner) => ({part: inner, next}), undefined));
    case 'choice': {
      const firsts = part.parts.map(firstOf);
      return {kinds: new Set(firsts.flatMap(({kinds}) => [...kinds])), isNullable: firsts.some(({isNullable}) => isNullable)};
    }
    case 'plus':
      return firstOf(part.part);
    default:
      return {kinds: firstOf(part.part).kinds, isNullable: true};
  }
};

const endOfRule: First = {kinds: new Set(), isNullable: true};

/** Returns the first set of the remainder of a rule. */
export const firstOfRest = (rest: Rest | undefined): First => {
  if (!rest) return endOfRule;
  const known = restFirsts.get(rest) ?? computeFirstOfRest(rest);
  restFirsts.set(rest, known);
  return known;
};

const computeFirstOfRest = (rest: Rest): First => {
  const kinds = new Set<TokenKind>();
  for (let at: Rest | undefined = rest; at; at = at.next) {
    const first = firstOf(at.part);
    for (const kind of first.kinds) kinds.add(kind);
    if (!first.isNullable) return {kinds, isNullable: false};
  }
  return {kinds, isNullable: true};
};

/** Returns the tokens that may come next, given the remainder of the current rule and its callers. */
export const expectedAt = (rest: Rest | undefined, call: Call | undefined): ReadonlySet<TokenKind> => {
  const first = firstOfRest(rest);
  const kinds = new Set(first.kinds);
  let isOpen = first.isNullable;
  for (let at = call; isOpen && at; at = at.outer) {
    const pathsAfter = firstOfRest(at.rest);
    for (const kind of pathsAfter.kinds) kinds.add(kind);
    isOpen = pathsAfter.isNullable;
  }
  return kinds;
};

const nothing = {};
let rests = new WeakMap<object, Map<Part, Rest>>();
let calls = new WeakMap<object, Map<Call | undefined, Call>>();
const stars = new WeakMap<Part, Part>();

const memoized = <V extends WeakKey, K, W>(table: WeakMap<V, Map<K, W>>, first: V, second: K, make: () => W): W => {
  const inner = table.get(first) ?? new Map<K, W>();
  table.set(first, inner);
  const known = inner.get(second) ?? make();
  inner.set(second, known);
  return known;
};

/** Clears the cached parser states. They belong to one expression. */
export const clearLookahead = (): void => {
  rests = new WeakMap();
  restFirsts = new WeakMap();
  calls = new WeakMap();
};

/** Returns the interned remainder of a rule, so that paths in the same state are identical. */
export const restOf = (part: Part, next: Rest | undefined): Rest => memoized(rests, next ?? nothing, part, () => ({part, next}));

const callOf = (rest: Rest | undefined, outer: Call | undefined): Call => memoized(calls, rest ?? nothing, outer, () => ({rest, outer}));

/** Returns the part repeated any number of times. */
export const repeated = (part: Part): Part => {
  const known = stars.get(part) ?? {kind: 'star', part};
  stars.set(part, known);
  return known;
};

/**
 * A path explored while an alternative is chosen (a parser configuration in ANTLR's terms): the alternative it started
 * with, its state, and whether it left the choice's rule.
 */
export interface ParserPath {
  readonly alternative: number;
  readonly rest: Rest | undefined;
  readonly call: Call | undefined;
  readonly hasLeft: boolean;
}

/** Returns the remainder that consists of a sequence of parts and `next`. */
export const sequenceRest = (parts: readonly Part[], next: Rest | undefined): Rest | undefined =>
  parts.reduceRight<Rest | undefined>((pathsAfter, part) => restOf(part, pathsAfter), next);

/** Yields the paths after consuming a token. `home` is the call of the rule that contains the choice. */
export function* pathsAfter(path: ParserPath, kind: TokenKind, home: Call | undefined): Generator<ParserPath> {
  const {rest, call} = path;
  if (!rest) {
    if (call) yield* pathsAfter({...path, rest: call.rest, call: call.outer, hasLeft: path.hasLeft || call === home}, kind, home);
    return;
  }
  const {part, next} = rest;
  const on = (to: Rest | undefined): Generator<ParserPath> => pathsAfter({...path, rest: to}, kind, home);
  switch (part.kind) {
    case 'token':
      if (part.of.includes(kind)) yield {...path, rest: next};
      return;
    case 'rule':
      yield* pathsAfter({...path, rest: restOf(grammar[part.name], undefined), call: callOf(next, call)}, kind, home);
      return;
    case 'row':
      yield* on(sequenceRest(part.parts, next));
      return;
    case 'choice':
      for (const inner of part.parts) yield* on(restOf(inner, next));
      return;
    case 'option':
      yield* on(restOf(part.part, next));
      yield* on(next);
      return;
    case 'star':
      yield* on(restOf(part.part, rest));
      yield* on(next);
      return;
    case 'plus':
      yield* on(restOf(part.part, restOf(repeated(part.part), next)));
  }
}

/** Returns the paths without duplicates. */
export const distinctPaths = (paths: Iterable<ParserPath>): readonly ParserPath[] => {
  const places = new Map<Rest | undefined, Map<Call | undefined, Set<number>>>();
  return [...paths].filter(({alternative, rest, call}) => {
    const byCall = places.get(rest) ?? new Map<Call | undefined, Set<number>>();
    places.set(rest, byCall);
    const known = byCall.get(call) ?? new Set();
    byCall.set(call, known);
    const isNew = !known.has(alternative);
    known.add(alternative);
    return isNew;
  });
};

/** Whether all alternatives reach the same states, so that more lookahead cannot distinguish them. */
export const areIndistinguishable = (paths: readonly ParserPath[], alternatives: number): boolean => {
  const counts = new Map<Rest | undefined, Map<Call | undefined, number>>();
  for (const {rest, call} of paths) {
    const byCall = counts.get(rest) ?? new Map<Call | undefined, number>();
    counts.set(rest, byCall);
    byCall.set(call, (byCall.get(call) ?? 0) + 1);
  }
  return [...counts.values()].every(byCall => [...byCall.values()].every(count => count === alternatives));
};

/** Whether a path can reach the end of the choice's rule without another token. */
export const canLeaveRule = ({rest, call, hasLeft}: ParserPath, home: Call | undefined): boolean => {
  if (hasLeft) return true;
  let at = call;
  let left = rest;
  while (firstOfRest(left).isNullable) {
    if (at === home || !at) return true;
    left = at.rest;
    at = at.outer;
  }
  return false;
};
