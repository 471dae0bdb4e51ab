import {weightLeft} from './json-weight.js';
import {jsonText, parseJson} from './json.js';
import {sortedInSteps} from '#src/base/sort-steps.js';
import type {Steps} from '#src/base/steps.js';

/** Returns JSON with sorted keys and without undefined values: equal values give equal text. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return jsonText(value ?? null);
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields)
    .filter(key => fields[key] !== undefined)
    .sort();
  return `{${keys.map(key => `${JSON.stringify(key)}:${canonicalJson(fields[key])}`).join(',')}}`;
};

/** A value of this weight is encoded in one go. */
const weightAtOnce = 500;

/** Returns the same as `canonicalJson`, in steps. */
export const canonicalJsonInSteps = function* (value: unknown): Steps<string> {
  yield;
  if (typeof value !== 'object' || value === null || weightLeft(value, weightAtOnce) >= 0) return canonicalJson(value);
  const parts: string[] = [];
  if (Array.isArray(value)) {
    for (const item of value) parts.push(yield* canonicalJsonInSteps(item ?? null));
    return `[${parts.join(',')}]`;
  }
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields).filter(key => fields[key] !== undefined);
  for (const key of yield* sortedInSteps(keys)) parts.push(`${JSON.stringify(key)}:${yield* canonicalJsonInSteps(fields[key])}`);
  return `{${parts.join(',')}}`;
};

/** Returns a map key for a JSON value: the scalar itself, or a text that no scalar equals. */
export const identity = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? `\u0000${canonicalJson(value)}` : value;

/** Returns the value with its keys sorted at every depth. */
export const inKeyOrder = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? parseJson(canonicalJson(value)) : value;
