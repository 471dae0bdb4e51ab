import type {PlainObject} from '#src/schema/decode/plain.js';
import {inapplicable} from '#src/schema/patch/errors.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {Versions} from './tracking.js';
import {typeMismatches, typeMismatchText} from './type-mismatches.js';

// Conversions of custom resources need not fit the schema of their version: another version may declare other fields.

/** Throws the 500 of an object that does not fit its schema; `step` is what its text begins with. */
const checkFits = (object: PlainObject, node: SchemaNode, step: string): void => {
  const found = typeMismatches(object, node);
  if (found.length > 0) throw inapplicable(`${step}${typeMismatchText(found)}`);
};

/** Returns versions that throw the 500 of a step when an object does not fit the version that it is converted to. */
export const checkedVersions = (versions: Versions, step: string): Versions => ({
  schemaOf: apiVersion => versions.schemaOf(apiVersion),
  convert(object, from, to) {
    const converted = versions.convert(object, from, to);
    const node = from === to ? undefined : versions.schemaOf(to);
    if (node) checkFits(converted, node, step);
    return converted;
  },
});
