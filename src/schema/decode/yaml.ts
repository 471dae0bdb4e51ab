import {YamlError} from '#src/base/yaml/error.js';
import {maxNesting, parseYaml as parse} from '#src/base/yaml/parse.js';
import {parseJson} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import {DecodeError, type DecodeProblem} from './error.js';
import {isNestedDeeper} from './plain.js';
import {hasDuplicates} from './strict.js';

/**
 * Returns the value of a text that is JSON, as most applies are; undefined for other texts, repeated keys or deep
 * nesting.
 */
export const jsonInYaml = (text: string): unknown => {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const value = parseJson(text);
    return isNestedDeeper(value, maxNesting) || hasDuplicates(text, value) || isBeyondRange(value) ? undefined : value;
  } catch {
    return undefined;
  }
};

/**
 * Parses YAML. Returns the value, in which the last of repeated keys wins, and the repeated keys. Throws `DecodeError`.
 */
export const parseYaml = (text: string): {value: unknown; problems: DecodeProblem[]} => {
  const json = jsonInYaml(text);
  if (json !== undefined) return {value: json, problems: []};
  try {
    const {value, repeated} = parse(text);
    return {
      value,
      problems: repeated.map(({key, line}) => ({kind: 'yaml', path: key, text: `line ${line}: key ${key} already set in map`})),
    };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new DecodeError(error.message, {cause: error});
  }
};
