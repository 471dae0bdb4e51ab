import type {Versions} from './tracking.js';
import {checkFits} from './type-mismatches.js';

// Conversions of custom resources need not fit the schema of their version: another version may declare other fields.

/** Returns versions that throw the 500 of a step when an object does not fit the version that it is converted to. */
export const checkedVersions = (versions: Versions, step: string): Versions => ({
  schemaOf: apiVersion => versions.schemaOf(apiVersion),
  convert(object, from, to) {
    const node = from === to ? undefined : versions.schemaOf(to);
    const converted = versions.convert(object, from, to);
    if (node) checkFits(converted, node, step);
    return converted;
  },
});
