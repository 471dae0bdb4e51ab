// The encoding of stored objects in etcd: JSON, protobuf or CBOR, as `--storage-media-type` says, readable by other
// servers on the same etcd.

import {jsonText, parseJson} from '#src/base/json/json.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {cborCodec} from '#src/schema/cbor/codec.js';
import {parseBody} from '#src/schema/decode/document.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import type {RecordEncoding} from '#src/storage/etcd/encoding.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import {resources} from '#src/resources/builtin/index.js';
import {storedKindOf} from '#src/resources/stored-version.js';
import {fillAlwaysPresent} from './always-present.js';
import {encodeRecord, recordText} from './record.js';

export interface RecordEncodingSettings {
  readonly naming: Naming;
  /** The encoding of built-in kinds; custom resources are always JSON, or CBOR if that is enabled. */
  readonly mediaType: string;
  readonly cbor: boolean;
  /** The oldest release whose servers must be able to read the records, for example `1.33`. */
  readonly minCompatibility?: string;
}

const openingBrace = 0x7b;
/** The tag with which self-described CBOR begins. */
const cborPrefix = Buffer.of(0xd9, 0xd9, 0xf7);

/**
 * Returns the original's encoding of objects in etcd, so that either implementation reads what the other wrote. Objects
 * are decoded from any of its formats.
 */
export const recordEncoding = async ({naming, mediaType, cbor, minCompatibility}: RecordEncodingSettings): Promise<RecordEncoding> => {
  const older = olderEncodings(naming, minCompatibility);
  const [binary, {parseCbor, encodeCbor}] = await Promise.all([protobufCodec(), cborCodec()]);
  const parsed = (bytes: Buffer): unknown => {
    if (bytes[0] === openingBrace) return parseJson(bytes.toString('utf8'));
    if (binary.isEnvelope(bytes, naming)) return binary.decodeObject(bytes, naming);
    if (bytes.subarray(0, cborPrefix.length).equals(cborPrefix)) return parseCbor(bytes).value;
    return parseBody(bytes, 'yaml').value;
  };
  return {
    decode(_key, bytes) {
      const object = parsed(bytes) as Partial<KubeObject>;
      if (!object.kind || !object.apiVersion) throw new Error(`it is no object in any form this server (naming ${naming.name}) knows`);
      return encodeRecord(toStoredVersion({...object, metadata: object.metadata ?? {}} as KubeObject, naming));
    },
    encode(_key, record) {
      const hub = recordText(record);
      const form = older.size > 0 ? older.get(typeText(headOf(hub))) : undefined;
      const text = form ? jsonText(form(parseJson(hub) as KubeObject)) : hub;
      const object = (): KubeObject => parseJson(text) as KubeObject;
      const {apiVersion, kind} = headOf(text);
      if (!binary.hasProtobuf(apiVersion, kind, naming)) return cbor ? encodeCbor(object()) : Buffer.from(`${text}\n`);
      if (mediaType === naming.protobufMediaType) return binary.encodeObject(object() as unknown as Record<string, unknown>, naming);
      return Buffer.from(mediaType === 'application/yaml' ? yamlText(object()) : `${text}\n`);
    },
  };
};

const byKind = new Map<string, ResourceDefinition>(
  resources.flatMap(definition =>
    [definition.kind, ...(definition.served?.otherVersions ?? []).map(({kind}) => kind)].map(({group, kind}) => [
      `${group}/${kind}`,
      definition,
    ]),
  ),
);

const typeText = ({apiVersion, kind}: {readonly apiVersion: string; readonly kind: string}): string => `${apiVersion} ${kind}`;

/**
 * Returns the conversions of objects whose preferred version servers of that release do not know, by the apiVersion and
 * kind of their records.
 */
const olderEncodings = (naming: Naming, minCompatibility: string | undefined): ReadonlyMap<string, (hub: KubeObject) => KubeObject> => {
  const forms = new Map<string, (hub: KubeObject) => KubeObject>();
  for (const definition of resources) {
    const {kind: hub, served} = definition;
    const otherVersions = served?.otherVersions ?? [];
    const stored = storedKindOf(definition, minCompatibility);
    const version = otherVersions.find(({kind}) => kind === stored);
    if (!version) continue;
    const apiVersion = naming.apiVersion(stored.group, stored.version);
    // kind and apiVersion come first.
    forms.set(typeText({apiVersion: naming.apiVersion(hub.group, hub.version), kind: hub.kind}), object => {
      const {metadata = {}, ...rest} = version.fromHub(object, naming);
      return Object.assign({kind: '', apiVersion: '', metadata}, rest, {kind: stored.kind, apiVersion});
    });
  }
  return forms;
};

/**
 * Returns an object of a built-in kind as this server would have written it: in the stored version, with all fields
 * that are always present. Versions that are no longer served have the fields of the stored one.
 */
const toStoredVersion = (object: KubeObject, naming: Naming): KubeObject => {
  const [version = '', name = ''] = object.apiVersion!.split('/').toReversed();
  const group = naming.groupToken(name);
  const definition = byKind.get(`${group}/${object.kind}`);
  if (!definition) return object;
  const other = definition.served?.otherVersions?.find(({kind}) => kind.group === group && kind.version === version);
  const {kind} = definition;
  const hub = {...(other?.toHub(object, naming) ?? object), apiVersion: naming.apiVersion(kind.group, kind.version), kind: kind.kind};
  const always = definition.storage?.alwaysPresent;
  if (always) fillAlwaysPresent(hub, always);
  definition.storage?.restore?.(hub);
  return hub;
};

/** Returns the apiVersion and kind of a record, with which its text begins. */
const headOf = (text: string): {readonly apiVersion: string; readonly kind: string} => {
  const end = text.indexOf(',"metadata":{');
  return JSON.parse(`${text.slice(0, end)}}`) as {apiVersion: string; kind: string};
};
