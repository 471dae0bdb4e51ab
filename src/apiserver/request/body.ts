// Reads the objects of request bodies: media type, parsing, kind and version checks, decoding by the schema with field
// validation. It never defaults, converts or admits; handlers and the registry do that.

import {jsonText} from '#src/base/json/json.js';
import {header, bodyLimit, type ApiRequest} from '#src/api/request.js';
import type {Kind} from '#src/api/kinds/index.js';
import {namingOfMediaType, type Naming} from '#src/api/naming.js';
import {invalid, invalidObject} from '#src/api/field-error.js';
import {badRequest, unsupportedMediaType, type StatusError} from '#src/api/status.js';
import type {DeleteOptions, KubeObject} from '#src/api/types.js';
import {decodeParsed, type Decoded, type FieldValidation} from '#src/schema/decode/decode.js';
import {parseBody, type Notation, type ParsedBody} from '#src/schema/decode/document.js';
import type {YamlReader} from '#src/schema/decode/yaml-reader.js';
import {DecodeError, strictDecodingText} from '#src/schema/decode/error.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {SchemaSource} from '#src/schema/builtin/schemas.js';
import {messageOf} from '#src/base/message.js';
import {currentSpan, spanEvent} from '#src/base/span.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {cborMediaType} from '#src/schema/cbor/media-types.js';
import type {CborEncoding} from './cbor-encoding.js';

/** The parameters for reading an object from a request. */
export interface BodyReader {
  readonly request: ApiRequest;
  readonly naming: Naming;
  readonly schemas: SchemaSource;
  readonly cbor: CborEncoding | undefined;
  readonly yaml: YamlReader;
  /** The user, who waits for no other's YAML. */
  readonly flow: string;
  readonly kind: Kind;
  /** Other versions of the group that a body may have. */
  readonly otherVersions?: readonly string[] | undefined;
  /** Whether a body must have apiVersion and kind, as those of custom resources must. */
  readonly custom?: boolean | undefined;
  readonly fieldValidation: FieldValidation;
  warn(text: string): void;
}

const notations: ReadonlyMap<string, Notation> = new Map([
  ['', 'json'],
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
]);

/** Returns the media type of a request's body without its parameters. */
export const mediaTypeOf = (request: ApiRequest): string => {
  const given = header(request, 'content-type') ?? '';
  const end = given.indexOf(';');
  return (end < 0 ? given : given.slice(0, end)).trim().toLowerCase();
};

/** What a body is expected to be. */
interface Expected {
  readonly naming: Naming;
  readonly cbor: CborEncoding | undefined;
  readonly yaml: YamlReader;
  readonly flow: string;
  readonly apiVersion: string;
  readonly kind: string;
}

const hasProtobuf = async ({apiVersion, kind, naming}: Expected): Promise<boolean> =>
  (await protobufCodec()).hasProtobuf(apiVersion, kind, naming);

/** The refusal of a media type, which lists the supported ones. */
const mediaTypeRefusal = async (expected: Expected): Promise<StatusError> =>
  unsupportedMediaType([
    ...[...notations.keys()].filter(Boolean),
    ...((await hasProtobuf(expected)) ? [expected.naming.protobufMediaType] : []),
    ...(expected.cbor ? [cborMediaType] : []),
  ]);

/** Parses bytes by the request's media type. Throws 415 for an unsupported one, `DecodeError` for malformed content. */
const parsedBytes = (request: ApiRequest, bytes: Buffer, expected: Expected): ParsedBody | Promise<ParsedBody> => {
  const type = mediaTypeOf(request);
  const notation = notations.get(type);
  if (notation === 'json') return parseBody(bytes, notation);
  return notation === 'yaml'
    ? expected.yaml.parse(bytes, {flow: expected.flow, signal: request.signal})
    : parsedBinary(type, bytes, expected);
};

const parsedBinary = async (type: string, bytes: Buffer, expected: Expected): Promise<ParsedBody> => {
  // Accepts the media type of either naming: compiled clients know only their own.
  const binary = namingOfMediaType(type);
  if (binary && (await hasProtobuf(expected))) {
    const {apiVersion, kind} = expected;
    return labelled((await protobufCodec()).decodeObject(bytes, binary, binary === expected.naming ? {apiVersion, kind} : undefined));
  }
  if (expected.cbor && type === cborMediaType) return expected.cbor.parse(bytes);
  throw await mediaTypeRefusal(expected);
};

const labelled = (value: KubeObject): ParsedBody => ({value, apiVersion: value.apiVersion ?? '', kind: value.kind ?? '', problems: []});

/** Returns the whole body as bytes. Throws 413 if it is too large. */
export const readBytes = ({body}: ApiRequest): Promise<Buffer> => {
  if (!body) return Promise.resolve(Buffer.alloc(0));
  if (body.kind !== 'bytes') return Promise.resolve(Buffer.from(jsonText(body.value)));
  const reading = body.read(bodyLimit);
  const span = currentSpan();
  if (span)
    reading.then(
      ({length}) => span.event('limitedReadBody succeeded', {len: length}),
      (error: unknown) => span.event('limitedReadBody failed', {len: 0, err: messageOf(error)}),
    );
  return reading;
};

/**
 * Returns the object of a body, checked against its kind's schema. Throws 400 if it is malformed, 415 for unknown media
 * types.
 */
export const readObject = async (reader: BodyReader): Promise<KubeObject> => {
  const {request, naming, cbor, yaml, flow, schemas, kind} = reader;
  const apiVersion = naming.apiVersion(kind.group, kind.version);
  const {body, bytes} = await parsedBody(request, {naming, cbor, yaml, flow, apiVersion, kind: kind.kind});
  if (reader.custom) checkOwnKind(body, bytes, reader, apiVersion);
  else if (reader.otherVersions?.some(version => body.apiVersion === naming.apiVersion(kind.group, version)))
    checkKind({...body, apiVersion}, kind, apiVersion, reader);
  else checkKind(body, kind, apiVersion, reader);
  // A body in another version is decoded by that version's schema before it is refused.
  const isOther = reader.custom === true && body.apiVersion !== apiVersion;
  if (isOther && body.apiVersion === '') throw otherVersion('', apiVersion);
  const decoded = held(
    body,
    isOther ? nodeOfVersion(body.apiVersion, reader) : schemaOf(schemas, kind),
    reader.fieldValidation,
    apiVersion,
    kind.kind,
  );
  report(decoded, reader, apiVersion);
  if (isOther) throw otherVersion(body.apiVersion, apiVersion);
  if (body.kind && body.kind !== kind.kind) {
    throw invalidObject({group: naming.group(kind.group), kind: body.kind}, decoded.object.metadata?.name ?? '', [
      invalid('kind', body.kind, `must be ${kind.kind}`),
    ]);
  }
  decoded.object.kind = kind.kind;
  decoded.object.apiVersion = apiVersion;
  return decoded.object;
};

/** A parsed body, with its bytes unless it came as an object. */
interface ReadBody {
  readonly body: ParsedBody;
  readonly bytes: Buffer | undefined;
}

const parsedBody = async (request: ApiRequest, expected: Expected): Promise<ReadBody> => {
  if (request.body?.kind === 'object') return {body: labelled(request.body.value as KubeObject), bytes: undefined};
  const bytes = await readBytes(request);
  spanEvent('About to convert to expected version');
  try {
    const parsed = parsedBytes(request, bytes, expected);
    return {body: await parsed, bytes};
  } catch (error) {
    throw error instanceof DecodeError ? unrecognized(expected.kind, bytes, error) : error;
  }
};

const unrecognized = (wanted: string, bytes: Buffer, error: Error): StatusError =>
  badRequest(`the object provided is unrecognized (must be of type ${wanted}): ${error.message} (${beginning(bytes)})`, error);

const shownBytes = 30;

/** Returns the first bytes of a body for an error message: as text if it looks like JSON. */
const beginning = (bytes: Buffer): string => {
  if (bytes.length === 0) return '<empty>';
  return `${bytes.toString(bytes[0] === 0x7b ? 'utf8' : 'hex', 0, shownBytes)}${bytes.length > shownBytes ? ' ...' : ''}`;
};

/** Returns the schema of a served kind. A served kind without one is an error of the build. */
export const schemaOf = (schemas: SchemaSource, {group, version, kind}: Pick<Kind, 'group' | 'version' | 'kind'>): SchemaNode => {
  const node = schemas.of(group, version, kind);
  if (!node) throw new Error(`there is no schema of ${kind} in ${group}/${version}`);
  return node;
};

const undecodable = (apiVersion: string, found: string, wanted: string, error: Error): StatusError =>
  badRequest(`${found} in version ${JSON.stringify(versionOf(apiVersion))} cannot be handled as a ${wanted}: ${error.message}`, error);

const versionOf = (apiVersion: string): string => apiVersion.split('/').at(-1)!;

/** Checks that apiVersion and kind of a body match the URL, from which missing ones are taken. */
const checkKind = (body: ParsedBody, kind: Kind, apiVersion: string, reader: Pick<BodyReader, 'naming' | 'schemas'>): void => {
  const label = {apiVersion: body.apiVersion || apiVersion, kind: body.kind || kind.kind};
  if (label.kind === kind.kind && label.apiVersion === apiVersion) return;
  if (label.kind === kind.kind && isKnown(label.apiVersion, label.kind, reader) && !reader.naming.hasOwnScheme(kind.group))
    throw otherVersion(label.apiVersion, apiVersion);
  throw undecodable(label.apiVersion, label.kind, kind.kind, new Error(kindMismatch(label, kind, reader)));
};

/** The refusal, as upstream words it, of an object of another kind or version than the URL's. */
export const kindMismatch = (
  label: {apiVersion: string; kind: string},
  {kind, group, version}: Kind,
  {naming, schemas}: Pick<BodyReader, 'naming' | 'schemas'>,
): string => {
  const [found, says] = [label.apiVersion, label.kind];
  if (!isKnown(found, says, {naming, schemas}) || naming.hasOwnScheme(group)) {
    return `no kind ${JSON.stringify(says)} is registered for version ${JSON.stringify(found)} in scheme ${JSON.stringify(naming.schemeOf(group))}`;
  }
  if (says !== kind) return `converting (${versionOf(found)}.${says}) to (${naming.packageOf(group)}.${kind}): unknown conversion`;
  return otherVersionText(found, naming.apiVersion(group, version));
};

/** Whether a kind exists, served or not. */
const isKnown = (apiVersion: string, kind: string, {naming, schemas}: Pick<BodyReader, 'naming' | 'schemas'>): boolean => {
  if (apiVersion === 'v1' && kind === 'List') return true;
  const [version, group = ''] = apiVersion.split('/').toReversed() as [string, string?];
  const token = naming.groupToken(group);
  return token !== undefined && schemas.of(token, version, kind) !== undefined;
};

/**
 * Throws 400 for a body without apiVersion or kind; wrong ones are reported together with the object's other errors.
 */
const checkOwnKind = (
  {kind, value}: ParsedBody,
  sent: Buffer | undefined,
  {kind: wanted, fieldValidation}: BodyReader,
  expected: string,
): void => {
  if (!kind) {
    const bytes = sent ?? Buffer.from(jsonText(value));
    const error = new Error(`Object 'Kind' is missing in '${bytes.toString()}'`);
    throw fieldValidation === 'Ignore' ? undecodable(expected, wanted.kind, wanted.kind, error) : unrecognized(wanted.kind, bytes, error);
  }
};

/**
 * The schema of a custom kind in the version of the body. For a version that is not served, only the fields that all
 * objects have.
 */
const nodeOfVersion = (apiVersion: string, {naming, schemas, kind}: BodyReader): SchemaNode => {
  const version = apiVersion.split('/').at(-1)!;
  const node = naming.apiVersion(kind.group, version) === apiVersion ? schemas.of(kind.group, version, kind.kind) : undefined;
  return (
    node ?? {type: 'object', coerce: object => Object.keys(object).filter(field => !['apiVersion', 'kind', 'metadata'].includes(field))}
  );
};

const otherVersionText = (found: string, wanted: string): string =>
  `the API version in the data (${found}) does not match the expected API version (${wanted})`;

const otherVersion = (found: string, wanted: string): StatusError => badRequest(otherVersionText(found, wanted));

const held = (body: ParsedBody, node: SchemaNode, validation: FieldValidation, apiVersion: string, kind: string): Decoded<KubeObject> => {
  try {
    return decodeParsed<KubeObject>(body, node, validation);
  } catch (error) {
    throw error instanceof DecodeError ? undecodable(apiVersion, kind, kind, error) : error;
  }
};

const report = ({problems}: Decoded<KubeObject>, {fieldValidation, kind, warn}: BodyReader, apiVersion: string): void => {
  if (problems.length === 0) return;
  if (fieldValidation === 'Strict') throw undecodable(apiVersion, kind.kind, kind.kind, new Error(strictDecodingText(problems)));
  for (const {text} of problems) warn(text);
};

/** Reads the options in the body of a deletion; undefined if there are none. */
export const readDeleteOptions = async (
  request: ApiRequest,
  {naming, cbor, yaml, flow, schemas}: Pick<BodyReader, 'naming' | 'cbor' | 'yaml' | 'flow' | 'schemas'>,
): Promise<DeleteOptions | undefined> => {
  if (!request.body || (request.body.kind === 'object' && request.body.value === undefined)) return undefined;
  try {
    if (request.body.kind === 'object') return options(labelled(request.body.value as KubeObject), naming, schemas);
    const bytes = await readBytes(request);
    if (bytes.length === 0) return undefined;
    const expected = {naming, cbor, yaml, flow, apiVersion: naming.apiVersion('meta', 'v1'), kind: deleteOptionsKind.kind};
    return options(await parsedBytes(request, bytes, expected), naming, schemas);
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message, error) : error;
  }
};

const deleteOptionsKind = {group: 'meta', version: 'v1', kind: 'DeleteOptions'} as const;

/** DeleteOptions are accepted in the version of any group: clients use that of the deleted object. */
const options = (body: ParsedBody, naming: Naming, schemas: SchemaSource): DeleteOptions => {
  if (body.kind && body.kind !== deleteOptionsKind.kind) {
    const version = body.apiVersion || naming.apiVersion('meta', 'v1');
    throw badRequest(
      `no kind ${JSON.stringify(body.kind)} is registered for version ${JSON.stringify(version)} in scheme ${JSON.stringify(naming.schemeOf('options'))}`,
    );
  }
  const {
    kind: _,
    apiVersion: __,
    ...rest
  } = decodeParsed<DeleteOptions & KubeObject>(body, schemaOf(schemas, deleteOptionsKind), 'Ignore').object;
  return rest;
};
