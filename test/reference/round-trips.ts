import {naming} from '#src/api/naming.js';
import {seededRandom} from '#src/base/random.js';
import {Schemas} from '#src/schema/builtin/schemas.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {markers} from '#src/schema/markers/index.js';
import type {SchemaNode} from '#src/schema/node.js';
import {encodeObject, hasProtobuf} from '#src/schema/protobuf/encode.js';
import {filled} from './filled.js';
import {hashOf, type Row} from './table.js';

/** A kind whose spec is a message without fields, and any object by its schema. */
const isLoose = (kind: string): boolean => /^StorageVersion(List)?$/.test(kind);

export const kubernetes = naming('kubernetes');

/** An object with every field of its kind filled. */
export interface FilledObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly node: SchemaNode;
  readonly object: PlainObject;
}

/**
 * Returns an object of every built-in kind and list that has a binary form. Each has a seed of its own: a new kind
 * changes no other.
 */
export const filledObjects = (): FilledObject[] => {
  const schemas = new Schemas();
  const found: FilledObject[] = [];
  for (const [name, versions] of Object.entries(markers)) {
    const group = name === 'core' ? '' : name;
    for (const version of Object.keys(versions)) {
      const apiVersion = group ? `${kubernetes.group(group as never)}/${version}` : version;
      for (const kind of schemas.typeNames(group, version)) {
        const node = schemas.of(group, version, kind);
        if (
          isLoose(kind) ||
          !node?.properties?.has('metadata') ||
          !node.properties.has('kind') ||
          !hasProtobuf(apiVersion, kind, kubernetes)
        )
          continue;
        const seed = Buffer.from(hashOf(`${apiVersion} ${kind}`)).readUInt32LE(0);
        found.push({apiVersion, kind, node, object: {...(filled(node, seededRandom(seed)) as PlainObject), apiVersion, kind}});
      }
    }
  }
  return found;
};

/** Returns the hashes of the object in every form. */
export const roundTripRow = ({apiVersion, kind, object}: FilledObject): Row => [
  apiVersion,
  kind,
  hashOf(object),
  hashOf(yamlText(object)),
  hashOf(encodeCbor(object)),
  hashOf(encodeObject(object, kubernetes)),
];
