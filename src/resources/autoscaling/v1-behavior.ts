import {canonicalQuantity} from '#src/api/quantity.js';
import type {Behavior} from './behavior.js';
import {fields, integer, isFields, listOf, quantity, parseGuarded, string} from './v1-guards.js';

const recased = (value: unknown, change: (letter: string) => string): unknown => {
  if (Array.isArray(value)) return value.map(item => recased(item, change));
  return isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key.charAt(0)) + key.slice(1), recased(item, change)]))
    : value;
};

/** Formats a behavior for the v1 annotation: capitalized fields, none omitted. */
export const behaviorText = (behavior: Behavior): string => {
  const rules = (way: Behavior['scaleUp']) =>
    way && {
      StabilizationWindowSeconds: way.stabilizationWindowSeconds ?? null,
      SelectPolicy: way.selectPolicy ?? null,
      Policies: recased(way.policies ?? null, letter => letter.toUpperCase()),
      Tolerance: way.tolerance ?? null,
    };
  return JSON.stringify({ScaleUp: rules(behavior.scaleUp) ?? null, ScaleDown: rules(behavior.scaleDown) ?? null});
};

const policy = fields({type: string, value: integer, periodSeconds: integer});
const rules = fields({stabilizationWindowSeconds: integer, selectPolicy: string, policies: listOf(policy), tolerance: quantity});
const behavior = fields({scaleUp: rules, scaleDown: rules});

/** Parses the v1 annotation of a behavior; undefined if it is malformed or empty. */
export const behaviorIn = (text: string | undefined): Behavior | undefined => {
  const read = recased(parseGuarded(text, isFields), letter => letter.toLowerCase());
  if (!behavior(read)) return undefined;
  const directions = Object.entries(read as Record<string, {tolerance?: unknown}>);
  const rules = directions.map(([way, {tolerance, ...others}]) => [
    way,
    {...others, ...(tolerance === undefined ? {} : {tolerance: canonicalQuantity(String(tolerance))})},
  ]);
  return rules.length > 0 ? (Object.fromEntries(rules) as Behavior) : undefined;
};
