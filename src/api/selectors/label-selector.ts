// Label selectors, from queries and from objects, as predicates over labels. An absent selector in an object matches
// nothing, an empty one everything.

import {badRequest} from '#src/api/status.js';
import {checkedRequirement, LabelParser} from './label-parser.js';
import {meets, requirementText, type LabelOperator, type LabelRequirement} from './requirement.js';

/** A predicate over labels. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  /** Whether it restricts nothing. */
  readonly empty: boolean;
  matches(labels: Readonly<Record<string, string>> | undefined): boolean;
  toString(): string;
}

/** A label selector in an object. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {readonly key: string; readonly operator: string; readonly values?: readonly string[]}[];
}

const none: Readonly<Record<string, string>> = Object.freeze({});

/** Returns the selector of all requirements. */
export const labelSelector = (requirements: readonly LabelRequirement[]): LabelSelector => {
  const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return {
    requirements: sorted,
    empty: sorted.length === 0,
    matches: (labels = none) => sorted.every(requirement => meets(requirement, labels)),
    toString: () => sorted.map(requirementText).join(','),
  };
};

/** Matches every object. */
export const everything: LabelSelector = labelSelector([]);

/** Matches no object. */
export const nothing: LabelSelector = {requirements: [], empty: false, matches: () => false, toString: () => ''};

/** Reads a selector as queries carry it. Throws a 400 with the found and expected tokens. */
export const parseLabelSelector = (text: string): LabelSelector =>
  text === '' ? everything : labelSelector(new LabelParser(text).parse());

const operators: Readonly<Record<string, LabelOperator>> = Object.assign(
  Object.create(null) as object,
  {
    In: 'in',
    NotIn: 'notin',
    Exists: 'exists',
    DoesNotExist: '!',
  } as const,
);

/**
 * Returns the selector of an object: absent matches nothing, empty matches everything. Throws a 400 for a malformed
 * one.
 */
export const labelSelectorOf = (object: LabelSelectorObject | null | undefined): LabelSelector => {
  if (!object) return nothing;
  const {matchLabels = {}, matchExpressions = []} = object;
  return labelSelector([
    ...Object.entries(matchLabels).map(([key, value]) => checkedRequirement({key, operator: '=', values: [value]})),
    ...matchExpressions.map(({key, operator: name, values = []}) => {
      const operator = operators[name];
      if (!operator) throw badRequest(`${JSON.stringify(name)} is not a valid label selector operator`);
      return checkedRequirement({key, operator, values});
    }),
  ]);
};

/** Returns a selector that requires these labels. */
export const selectorForLabels = (labels: Readonly<Record<string, string>>): LabelSelector =>
  labelSelector(Object.entries(labels).map(([key, value]) => ({key, operator: '=', values: [value]})));
