import type {MetadataValidator} from '#src/schema/custom/metadata.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Schemas} from '#src/schema/builtin/schemas.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateObjectMeta} from '#src/resources/validation/object-meta.js';

let node: SchemaNode | undefined;

/** Returns the built-in schema of metadata, read on first use. */
export const metadataNode = (): SchemaNode => (node ??= new Schemas().of('meta', 'v1', 'ObjectMeta')!);

/** Validates the metadata of embedded objects. */
export const validateMetadata: MetadataValidator = (meta, {namespaced, path}) =>
  validateObjectMeta(meta, {namespaced, nameProblems: pathSegmentName}, path);
