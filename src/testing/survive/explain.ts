import {jsonText} from '#src/base/json/json.js';
import {isDeepStrictEqual} from 'node:util';
import type {SurviveReport} from './scenario.js';

/** The maximum length of a value in an explanation. */
const mostText = 2_000;

/** Returns a report as text. */
export const explainReport = ({runs, schedules, writes, differences}: Omit<SurviveReport, 'explain'>): string => {
  const [difference] = differences;
  const ran = `${runs} of ${schedules} schedules ran, over ${writes.length} writes of the operator`;
  if (!difference) return `${ran}: all ended as the undisturbed run`;
  const {seed, schedule, faults, expected, actual, trace} = difference;
  const isEnd = actual !== undefined && !isDeepStrictEqual(expected, actual);
  return [
    `${ran}. One ${isEnd ? 'ended otherwise' : 'went wrong'}: ${schedule}`,
    `To repeat it: survive({..., seed: ${JSON.stringify(seed)}})`,
    ...(faults.length > 0 ? ['What is wrong:', ...faults.map(fault => `  - ${fault}`)] : []),
    ...(isEnd ? endLines(expected, actual) : []),
    'What happened, in virtual time:',
    ...trace,
  ].join('\n');
};

const endLines = (expected: unknown, actual: unknown): readonly string[] => {
  const {path, left, right} = firstDifference(expected, actual);
  return [`The end differs${path ? ` at ${path}` : ''}:`, `  undisturbed: ${textOf(left)}`, `  this run:    ${textOf(right)}`];
};

const textOf = (value: unknown): string => {
  const text = jsonText(value) ?? 'nothing';
  return text.length > mostText ? `${text.slice(0, mostText)}...` : text;
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Returns the path of the first difference, and both values there. */
const firstDifference = (
  left: unknown,
  right: unknown,
  path = '',
): {readonly path: string; readonly left: unknown; readonly right: unknown} => {
  if (isObject(left) && isObject(right) && Array.isArray(left) === Array.isArray(right)) {
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].filter(key => !isDeepStrictEqual(left[key], right[key]));
    const [key] = keys;
    // Several differences are reported together.
    if (keys.length === 1 && key !== undefined)
      return firstDifference(left[key], right[key], Array.isArray(left) ? `${path}[${key}]` : `${path}.${key}`);
  }
  return {path, left, right};
};
