// Finds the permissions of one set of rules that another does not cover, for the prevention of privilege escalation.
// The number of comparisons is bounded: permissions that remain undecided count as missing, never as covered.

import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import type {PolicyRule} from '#src/api/types.js';
import {grantedPrefix, type Grant} from './rules.js';

// Rules are compared as products of sets (verbs by groups by resources by names), without expanding the products.

/** The limit of comparisons of single values for one check. Permissions that are undecided then count as missing. */
const maxSteps = 1_000_000;

/** The values that one list of a rule covers. */
interface CoveredValues {
  readonly all: boolean;
  /** The number of comparisons for one value. */
  readonly cost: number;
  /** The values themselves, if the list has no patterns. */
  readonly values?: ReadonlySet<string>;
  has(value: string): boolean;
}

const everything: CoveredValues = {all: true, cost: 0, has: () => true};

const coverageOfValues = (values: readonly string[] | undefined): CoveredValues => {
  const known = new Set(values);
  return known.has('*') ? everything : {all: false, cost: 1, values: known, has: value => known.has(value)};
};

/** A resource is covered by itself, with its subresource, by `*`, or by any resource's subresource. */
const coverageOfResources = (values: readonly string[] | undefined): CoveredValues => {
  const known = new Set(values);
  if (known.has('*')) return everything;
  const has = (value: string): boolean => {
    const [main = '', subresource = ''] = value.split(/\/(.*)/s);
    return known.has(subresource ? `${main}/${subresource}` : main) || (subresource !== '' && known.has(`*/${subresource}`));
  };
  return {all: false, cost: 1, has};
};

/** A path is covered by itself or by a prefix. */
const coverageOfPaths = (values: readonly string[] | undefined): CoveredValues => {
  const known = new Set(values);
  if (known.has('*')) return everything;
  const prefixes = new Set((values ?? []).map(grantedPrefix).filter(prefix => prefix !== undefined));
  if (prefixes.has('')) return everything;
  const lengths = [...new Set([...prefixes].map(({length}) => length))];
  return {
    all: false,
    cost: 1 + lengths.length,
    has: path => known.has(path) || lengths.some(length => length <= path.length && prefixes.has(path.slice(0, length))),
  };
};

/** The coverage of a rule by list, in the order of the lists of a `Box`. */
interface CoveredRule {
  readonly onResources: readonly CoveredValues[];
  readonly onPaths: readonly CoveredValues[];
}

const heldRule = ({verbs, apiGroups, resources, resourceNames, nonResourceURLs}: Readonly<PolicyRule>): CoveredRule => {
  const ofVerbs = coverageOfValues(verbs);
  const names = new Set(resourceNames);
  const ofNames: CoveredValues =
    names.size === 0 ? everything : {all: false, cost: 1, values: names, has: name => name !== noName && names.has(name)};
  return {
    onResources: [coverageOfValues(apiGroups), coverageOfResources(resources), ofVerbs, ofNames],
    onPaths: [coverageOfPaths(nonResourceURLs), ofVerbs],
  };
};

/** Represents the absence of a name: only matched by rules without names. */
const noName = '\0';

/** A product of lists, each given by indexes into a list of the wanted rule. */
type Box = readonly (readonly number[])[];

/** A wanted rule, or its part for resources or for paths. */
interface Wanted {
  readonly lists: readonly (readonly string[])[];
  grant(values: readonly string[]): Grant;
}

/** Rules may come from clients, before validation. */
const wantedOf = ({
  verbs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: Readonly<PolicyRule>): Wanted[] => {
  const isNamed = resourceNames.length > 0;
  return [
    {
      lists: [apiGroups, resources, verbs, isNamed ? resourceNames : [noName]],
      grant: ([group = '', resource = '', verb = '', name = '']) => ({verb, group, resource, ...(isNamed ? {name} : {})}),
    },
    {lists: [nonResourceURLs, verbs], grant: ([path = '', verb = '']) => ({verb, path})},
  ];
};

/** Subtracts the held rules from the wanted ones. */
class Subtraction {
  readonly #held: readonly CoveredRule[];
  #steps = 0;

  constructor(held: readonly PolicyRule[]) {
    this.#held = held.map(heldRule);
  }

  /** Returns the uncovered part of a wanted rule: disjoint boxes. */
  left({lists}: Wanted, of: keyof CoveredRule): readonly Box[] {
    if (lists.some(({length}) => length === 0)) return [];
    let boxes: readonly Box[] = [lists.map(list => [...list.keys()])];
    const known: (ReadonlySet<string> | undefined)[] = [];
    for (const {[of]: held} of this.#held) {
      if (boxes.length === 0 || this.#steps > maxSteps) return boxes;
      this.#steps += 1;
      if (held.every(({all}) => all)) return [];
      if (!this.#intersects(lists, held, known)) continue;
      boxes = boxes.flatMap(box => this.#without(box, lists, held));
    }
    return boxes;
  }

  /** Whether a rule can intersect long lists, checked from the rule, whose lists are mostly short. */
  #intersects(lists: readonly (readonly string[])[], held: readonly CoveredValues[], known: (ReadonlySet<string> | undefined)[]): boolean {
    return held.every(({all, values}, at) => {
      if (all || !values || values.size >= lists[at]!.length) return true;
      const wanted = (known[at] ??= new Set(lists[at]));
      this.#steps += values.size;
      for (const value of values) if (wanted.has(value)) return true;
      return false;
    });
  }

  #without(box: Box, lists: readonly (readonly string[])[], held: readonly CoveredValues[]): Box[] {
    if (this.#steps > maxSteps) return [box];
    const pieces: Box[] = [];
    let rest = box;
    for (const [at, {all, cost, has}] of held.entries()) {
      if (all) continue;
      const list = lists[at]!;
      this.#steps += box[at]!.length * cost;
      const [inside, outside]: [number[], number[]] = [[], []];
      for (const place of box[at]!) (has(list[place]!) ? inside : outside).push(place);
      if (inside.length === 0) return [box];
      if (outside.length > 0) pieces.push(rest.with(at, outside));
      rest = rest.with(at, inside);
    }
    return pieces;
  }
}

/** Missing permissions, in the order of the rules. */
export interface MissingPermissions {
  readonly grants: readonly Grant[];
  /** Whether there are more than are listed or than could be compared. */
  readonly hasMore: boolean;
}

const byPlaces = (a: readonly number[], b: readonly number[]): number => a.reduce((order, place, at) => order || place - b[at]!, 0);

/** The combinations of indexes in a box, one after another. */
function* places(box: Box, chosen: readonly number[] = []): Iterable<readonly number[]> {
  if (chosen.length === box.length) yield chosen;
  else for (const place of box[chosen.length]!) yield* places(box, [...chosen, place]);
}

/** Returns the permissions of `wanted` that `held` does not cover, up to the number that is reported. */
export const missing = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]): MissingPermissions => {
  const subtraction = new Subtraction(held);
  const grants: Grant[] = [];
  let text = 0;
  for (const rule of wanted) {
    const [onResources, onPaths] = wantedOf(rule) as [Wanted, Wanted];
    for (const [{lists, grant}, boxes] of [
      [onResources, subtraction.left(onResources, 'onResources')],
      [onPaths, subtraction.left(onPaths, 'onPaths')],
    ] as const) {
      const found: (readonly number[])[] = [];
      let hasMore = false;
      for (const box of boxes) {
        for (const combination of places(box)) {
          hasMore = grants.length + found.length >= maxErrors || text > maxErrorText;
          if (hasMore) break;
          found.push(combination);
          for (const [at, place] of combination.entries()) text += lists[at]![place]!.length;
        }
        if (hasMore) break;
      }
      for (const combination of found.sort(byPlaces)) grants.push(grant(combination.map((place, at) => lists[at]![place]!)));
      if (hasMore) return {grants, hasMore};
    }
  }
  return {grants, hasMore: false};
};
