import type {MetadataValidator} from '#src/schema/custom/metadata.js';
import type {SchemaNode} from '#src/schema/node.js';
import {builtinSchemas} from '#src/schema/builtin/schemas.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateObjectMeta} from '#src/resources/validation/object-meta.js';

/** Returns the built-in schema of metadata, read on first use. */
export const metadataNode = (): SchemaNode => builtinSchemas().of('meta', 'v1', 'ObjectMeta')!;

/** Validates the metadata of embedded objects. */
export const validateMetadata: MetadataValidator = (meta, {namespaced, path}) =>
  validateObjectMeta(meta, {namespaced, nameProblems: pathSegmentName}, path);
