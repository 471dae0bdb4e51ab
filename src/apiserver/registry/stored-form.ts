import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {cborCodec} from '#src/schema/cbor/codec.js';
import {parseBody} from '#src/schema/decode/document.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {yamlText} from '#src/schema/yaml-text.js';
import type {StoredForm} from '#src/storage/etcd/form.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import {resources} from '#src/resources/index.js';
import {fillAlwaysPresent} from './create.js';
import {encodeRecord, recordText} from './record.js';

export interface StoredFormSettings {
  readonly naming: Naming;
  /** What built-in kinds are written as; custom resources are always JSON, or CBOR where that is on. */
  readonly mediaType: string;
  readonly cbor: boolean;
}

const openingBrace = 0x7b;
/** How CBOR says what it is. */
const cborMark = Buffer.of(0xd9, 0xd9, 0xf7);

/** Objects in the store's servers as the original has them there, so that either can read what the other wrote. Each is read in whichever form it lies. */
export const storedForm = async ({naming, mediaType, cbor}: StoredFormSettings): Promise<StoredForm> => {
  const [binary, {parseCbor, encodeCbor}] = await Promise.all([protobufCodec(), cborCodec()]);
  const parsed = (bytes: Buffer): unknown => {
    if (bytes[0] === openingBrace) return JSON.parse(bytes.toString('utf8'));
    if (binary.isEnvelope(bytes, naming)) return binary.decodeObject(bytes, naming);
    if (bytes.subarray(0, cborMark.length).equals(cborMark)) return parseCbor(bytes).value;
    return parseBody(bytes, 'yaml').value;
  };
  return {
    shown(_key, bytes) {
      const object = parsed(bytes) as Partial<KubeObject>;
      if (!object.kind || !object.apiVersion) throw new Error(`it is no object in any form this server (naming ${naming.name}) knows`);
      return encodeRecord(restored({...object, metadata: object.metadata ?? {}} as KubeObject, naming));
    },
    stored(_key, record) {
      const text = recordText(record);
      const object = (): KubeObject => JSON.parse(text) as KubeObject;
      const {apiVersion, kind} = headOf(text);
      if (!binary.hasBinaryForm(apiVersion, kind, naming)) return cbor ? encodeCbor(object()) : Buffer.from(`${text}\n`);
      if (mediaType === naming.protobufMediaType) return binary.encodeObject(object() as unknown as Record<string, unknown>, naming);
      return Buffer.from(mediaType === 'application/yaml' ? yamlText(object()) : `${text}\n`);
    },
  };
};

const byKind = new Map<string, ResourceDefinition>(resources.flatMap(definition => [definition.kind, ...(definition.otherVersions ?? []).map(({kind}) => kind)].map(({group, kind}) => [`${group}/${kind}`, definition])));

/**
 * An object of a built-in kind as this server would have written it: in the version that is stored, with all fields that are always there. Versions that nobody
 * serves any more have the fields of the one that is stored.
 */
const restored = (object: KubeObject, naming: Naming): KubeObject => {
  const [version = '', name = ''] = object.apiVersion!.split('/').toReversed();
  const group = naming.groupToken(name);
  const definition = byKind.get(`${group}/${object.kind}`);
  if (!definition) return object;
  const other = definition.otherVersions?.find(({kind}) => kind.group === group && kind.version === version);
  const {kind} = definition;
  const hub = {...(other?.toHub(object, naming) ?? object), apiVersion: naming.apiVersion(kind.group, kind.version), kind: kind.kind};
  fillAlwaysPresent({definition}, hub);
  definition.restore?.(hub);
  return hub;
};

/** What a record says of itself, which it says first. */
const headOf = (text: string): {readonly apiVersion: string; readonly kind: string} => {
  const end = text.indexOf(',"metadata":{');
  return JSON.parse(`${text.slice(0, end)}}`) as {apiVersion: string; kind: string};
};
