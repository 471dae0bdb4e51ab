import {grammar, type Part} from './grammar.js';
import type {TokenKind} from './tokens.js';

/** What is still to come within a rule. */
export interface Rest {
  readonly part: Part;
  readonly next: Rest | undefined;
}

/** A rule that is being read: what comes behind it in the rule it stands in. */
export interface Call {
  readonly rest: Rest | undefined;
  readonly outer: Call | undefined;
}

/** The tokens something may begin with, and whether it may be nothing. */
export interface First {
  readonly kinds: ReadonlySet<TokenKind>;
  readonly isNullable: boolean;
}

const partFirsts = new WeakMap<Part, First>();
let restFirsts = new WeakMap<Rest, First>();

/** What a part may begin with. */
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

/** What the rest of a rule may begin with. */
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

/** The tokens that may come next where a rest is still to be read within a call. */
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

/** Drops what is known of places, which are those of one expression. */
export const clearLookahead = (): void => {
  rests = new WeakMap();
  restFirsts = new WeakMap();
  calls = new WeakMap();
};

/** The rest of a part and what is behind it: the same each time, so that ways that have come to the same place are known for one. */
export const restOf = (part: Part, next: Rest | undefined): Rest => memoized(rests, next ?? nothing, part, () => ({part, next}));

const callOf = (rest: Rest | undefined, outer: Call | undefined): Call => memoized(calls, rest ?? nothing, outer, () => ({rest, outer}));

/** A part any number of times. */
export const repeated = (part: Part): Part => {
  const known = stars.get(part) ?? {kind: 'star', part};
  stars.set(part, known);
  return known;
};

/** A way on while a choice is looked into: which of the parts it began with, what is to come, and whether it left the rule of the choice. */
export interface ParserPath {
  readonly alternative: number;
  readonly rest: Rest | undefined;
  readonly call: Call | undefined;
  readonly hasLeft: boolean;
}

/** The rest that some parts in a row are, with what is behind them. */
export const sequenceRest = (parts: readonly Part[], next: Rest | undefined): Rest | undefined => parts.reduceRight<Rest | undefined>((pathsAfter, part) => restOf(part, pathsAfter), next);

/** The ways on behind a token. `home` is the call of the rule in which the choice is. */
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

/** The ways without those that have come to the same place by the same choice. */
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

/** Whether all ways have come to the same places, whatever was chosen: looking further ahead would not tell them apart. */
export const areIndistinguishable = (paths: readonly ParserPath[], alternatives: number): boolean => {
  const counts = new Map<Rest | undefined, Map<Call | undefined, number>>();
  for (const {rest, call} of paths) {
    const byCall = counts.get(rest) ?? new Map<Call | undefined, number>();
    counts.set(rest, byCall);
    byCall.set(call, (byCall.get(call) ?? 0) + 1);
  }
  return [...counts.values()].every(byCall => [...byCall.values()].every(count => count === alternatives));
};

/** Whether a way can come to the end of the rule in which the choice is without another token. */
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
