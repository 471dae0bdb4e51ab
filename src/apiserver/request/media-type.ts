// Content negotiation: from an `Accept` header to the encoding and shape of a response. Results are cached per codec,
// kind and header, up to a bound.

import {knownApiSuffixes, type Naming} from '#src/api/naming.js';
import {header, type ApiRequest} from '#src/api/request.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {ownValue} from '#src/base/own.js';
import {cborMediaType, cborSequence} from '#src/schema/cbor/media-types.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {parseClauses, type Clause} from '#src/serving/accept.js';
import type {CborEncoding} from './cbor-encoding.js';

/** The form of an object that a client requests. */
export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';

/** The negotiated form of a response. */
export interface Accepted {
  readonly media: 'json' | 'yaml' | 'binary' | 'cbor';
  /** The naming of the binary form. */
  readonly naming?: Naming;
  /** The codec of the CBOR form. */
  readonly cbor?: CborEncoding;
  readonly shape: Shape;
  /** The apiVersion of the shape as the client wrote it, whatever the server's naming. */
  readonly shapeVersion: string;
  /** The media type with its parameters, as the response repeats them. */
  readonly contentType: string;
  /** Whether a discovery document is to contain only what this server serves (KEP-4020). */
  readonly withoutPeers?: true;
  /** Whether the client requested an indented body besides the media type. */
  readonly pretty?: true;
}

const medias: Readonly<Record<string, 'json' | 'yaml'>> = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/*': 'json',
  '*/*': 'json',
};

export const plainJson: Accepted = {media: 'json', shape: 'object', shapeVersion: '', contentType: 'application/json'};

const knownGroup = (group: string, token: string): boolean => knownApiSuffixes.some(suffix => group === `${token}.${suffix}`);

const shapeOf = (params: ReadonlyMap<string, string>, allowed: ReadonlySet<Shape>): {shape: Shape; version: string} | undefined => {
  const as = params.get('as');
  if (as === undefined) return params.has('g') || params.has('v') ? undefined : {shape: 'object', version: ''};
  const group = params.get('g') ?? '';
  const version = params.get('v') ?? '';
  if (!allowed.has(as as Shape)) return undefined;
  if (as === 'APIGroupDiscoveryList')
    return knownGroup(group, 'apidiscovery') && version === 'v2' ? {shape: as, version: `${group}/${version}`} : undefined;
  return knownGroup(group, 'meta') && (version === 'v1' || version === 'v1beta1')
    ? {shape: as as Shape, version: `${group}/${version}`}
    : undefined;
};

const bound = new CacheBound('accept_headers', 1 << 20);
const newAgreements = () => new Lru<string, Accepted | null>(bound, {bytesOf: () => 500});
const cache = newAgreements();
const byCodec = new WeakMap<CborEncoding, Lru<string, Accepted | null>>();
const cacheOf = (codec: CborEncoding): Lru<string, Accepted | null> => {
  const found = byCodec.get(codec) ?? newAgreements();
  byCodec.set(codec, found);
  return found;
};
/** Longer headers are unusual; they are parsed each time. */
const maxCachedLength = 1000;

/** Whether an `Accept` header is satisfied by plain JSON, whatever else is available. */
export const acceptsPlainJson = (header: string | undefined): boolean => !header || header === '*/*' || header === 'application/json';

/** The forms that are available besides JSON. */
export interface Offer {
  /** Whether the response is a stream, which has no YAML. */
  readonly stream?: boolean;
  /** The naming of the binary form, if there is one. */
  readonly binary?: Naming | undefined;
  /** Whether only metadata has a binary form, as with custom resources. */
  readonly onlyMetadata?: boolean;
  readonly cbor?: CborEncoding | undefined;
}

/** The available encoding for a media type of the header. */
const mediaOf = (type: string, {binary, cbor}: Offer): Accepted['media'] | undefined => {
  if (binary && type === binary.protobufMediaType) return 'binary';
  if (cbor && type === cborMediaType) return 'cbor';
  return ownValue(medias, type);
};

const contentTypeOf = (media: Accepted['media'], {params}: Clause, shape: Shape, {binary, stream}: Offer): string => {
  if (media === 'cbor' && stream) return cborSequence;
  const type = media === 'binary' ? binary!.protobufMediaType : `application/${media}`;
  if (media === 'binary' && stream) return `${type};stream=watch`;
  return shape === 'APIGroupDiscoveryList' ? `${type};g=${params.get('g')};v=${params.get('v')};as=${shape}` : type;
};

/** Whether the `stream` parameter of a clause is supported: only `watch`, and only for streamed encodings. */
const canStream = (media: Accepted['media'], {params}: Clause): boolean =>
  !params.get('stream') || (media !== 'yaml' && params.get('stream') === 'watch');

/** Whether a shape can be encoded in a form: tables have no binary form, and neither do names of the other naming. */
const isWritable = (
  media: Accepted['media'],
  {shape, version}: {shape: Shape; version: string},
  {binary, onlyMetadata}: Offer,
): boolean => {
  if (media !== 'binary') return true;
  if (shape === 'Table' || (onlyMetadata && shape === 'object')) return false;
  return version === '' || binary!.groupToken(version.split('/')[0]!) !== undefined;
};

/**
 * Returns the best match of an `Accept` header, or undefined if nothing matches (406). Clauses with an impossible shape
 * are skipped. `kind` identifies the possible shapes; it is part of the cache's key.
 */
export const negotiate = (
  header: string | undefined,
  kind: string,
  allowed: ReadonlySet<Shape>,
  offer: Offer = {},
): Accepted | undefined => {
  if (header === undefined || acceptsPlainJson(header)) return plainJson;
  const {binary, onlyMetadata, cbor, stream} = offer;
  const key = `${kind} ${stream ? 's' : ''} ${onlyMetadata ? 'm' : ''} ${binary?.name ?? ''} ${header}`;
  // The result contains the codec, of which each server has its own.
  const agreements = cbor ? cacheOf(cbor) : cache;
  const known = agreements.peek(key);
  if (known !== undefined) return known ?? undefined;
  const found = parseClauses(header)
    .map((clause): Accepted | undefined => {
      const media = mediaOf(clause.type, offer);
      if (!media || !canStream(media, clause)) return undefined;
      const shape = shapeOf(clause.params, allowed);
      if (!shape || !isWritable(media, shape, offer)) return undefined;
      return {
        media,
        ...(media === 'binary' ? {naming: binary!} : media === 'cbor' ? {cbor: cbor!} : {}),
        shape: shape.shape,
        shapeVersion: shape.version,
        contentType: contentTypeOf(media, clause, shape.shape, offer),
        ...(shape.shape === 'APIGroupDiscoveryList' && clause.params.get('profile') === 'nopeer' && {withoutPeers: true}),
        ...(clause.params.get('pretty') === '1' && {pretty: true}),
      };
    })
    .find(accepted => accepted !== undefined);
  // What the client prefers decides: other clauses are no substitute for YAML.
  const agreed = stream && found?.media === 'yaml' ? undefined : found;
  if (key.length > maxCachedLength) return agreed;
  agreements.set(key, agreed ?? null);
  return agreed;
};

/** Loads the codecs of the media types that a request names; undefined if nothing has to be loaded. */
export const codecsFor = (
  request: ApiRequest,
  {naming, cbor}: {readonly naming: Naming; readonly cbor: CborEncoding | undefined},
): Promise<unknown> | undefined => {
  const accept = header(request, 'accept');
  const speaksCbor = cbor && !cbor.loaded && (accept?.includes('cbor') || header(request, 'content-type')?.includes('cbor'));
  const codec = accept?.includes(naming.protobufMediaType) ? protobufCodec() : undefined;
  return speaksCbor ? Promise.all([codec, cbor.load()]) : codec;
};
