import {knownApiSuffixes, type Naming} from '#src/api/naming.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {own} from '#src/base/own.js';
import {cborMediaType, cborSequence} from '#src/schema/cbor/media-types.js';
import {parseClauses, type Clause} from '#src/serving/accept.js';
import type {CborEncoding} from './cbor-encoding.js';

/** In which shape an object is wanted. */
export type Shape = 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList' | 'APIGroupDiscoveryList';

/** What was agreed on for a response. */
export interface Accepted {
  readonly media: 'json' | 'yaml' | 'binary' | 'cbor';
  /** In whose words the binary form is; of that form alone. */
  readonly naming?: Naming;
  /** What writes CBOR; of that form alone. */
  readonly cbor?: CborEncoding;
  readonly shape: Shape;
  /** The shape's apiVersion as the caller spelled it: clients know the answer by it, whatever the server's own naming. */
  readonly shapeVersion: string;
  /** The media type with its parameters, as the response repeats them. */
  readonly contentType: string;
  /** Whether the caller asked for an indented body beside the media type. */
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
  if (as === 'APIGroupDiscoveryList') return knownGroup(group, 'apidiscovery') && version === 'v2' ? {shape: as, version: `${group}/${version}`} : undefined;
  return knownGroup(group, 'meta') && (version === 'v1' || version === 'v1beta1') ? {shape: as as Shape, version: `${group}/${version}`} : undefined;
};

const bound = new CacheBound('accept_headers', 1 << 20);
const newAgreements = () => new Lru<string, Accepted | null>(bound, {bytesOf: () => 500});
const cache = newAgreements();
const byForm = new WeakMap<CborEncoding, Lru<string, Accepted | null>>();
const ofForms = (form: CborEncoding): Lru<string, Accepted | null> => {
  const found = byForm.get(form) ?? newAgreements();
  byForm.set(form, found);
  return found;
};
/** Longer headers are nobody's habit; they are read anew each time. */
const longestCached = 1000;

/** What there is besides JSON. */
export interface Offer {
  /** A stream has no YAML. */
  readonly stream?: boolean;
  /** The naming in whose words there is a binary form. */
  readonly binary?: Naming | undefined;
  /** Whether metadata alone has a binary form, as it is with custom resources. */
  readonly onlyMetadata?: boolean;
  readonly cbor?: CborEncoding | undefined;
}

/** What an offer has for a type of a header. */
const mediaOf = (type: string, {binary, cbor}: Offer): Accepted['media'] | undefined => {
  if (binary && type === binary.protobufMediaType) return 'binary';
  if (cbor && type === cborMediaType) return 'cbor';
  return own(medias, type);
};

const contentTypeOf = (media: Accepted['media'], {params}: Clause, shape: Shape, {binary, stream}: Offer): string => {
  if (media === 'cbor' && stream) return cborSequence;
  const type = media === 'binary' ? binary!.protobufMediaType : `application/${media}`;
  if (media === 'binary' && stream) return `${type};stream=watch`;
  return shape === 'APIGroupDiscoveryList' ? `${type};g=${params.get('g')};v=${params.get('v')};as=${shape}` : type;
};

/** The one way of streaming a clause may name, and only where there is a stream of the media. */
const canStream = (media: Accepted['media'], {params}: Clause): boolean => !params.get('stream') || (media !== 'yaml' && params.get('stream') === 'watch');

/** Whether a shape can be written in a form: tables cannot be in the binary one, nor what goes by names of the other vocabulary. */
const isWritable = (media: Accepted['media'], {shape, version}: {shape: Shape; version: string}, {binary, onlyMetadata}: Offer): boolean => {
  if (media !== 'binary') return true;
  if (shape === 'Table' || (onlyMetadata && shape === 'object')) return false;
  return version === '' || binary!.groupToken(version.split('/')[0]!) !== undefined;
};

/**
 * The best match of an `Accept` header, or undefined when nothing fits (406). A clause that asks for an impossible shape is skipped.
 * `kind` tells which shapes are possible; it is part of what the small cache remembers.
 */
export const negotiate = (header: string | undefined, kind: string, allowed: ReadonlySet<Shape>, offer: Offer = {}): Accepted | undefined => {
  if (!header || header === '*/*' || header === 'application/json') return plainJson;
  const {binary, onlyMetadata, cbor, stream} = offer;
  const key = `${kind} ${stream ? 's' : ''} ${onlyMetadata ? 'm' : ''} ${binary?.name ?? ''} ${header}`;
  // What is agreed on names the form itself, which each server has its own of.
  const agreements = cbor ? ofForms(cbor) : cache;
  const known = agreements.peek(key);
  if (known !== undefined) return known ?? undefined;
  const found = parseClauses(header)
    .map((clause): Accepted | undefined => {
      const media = mediaOf(clause.type, offer);
      if (!media || (media === 'yaml' && stream) || !canStream(media, clause)) return undefined;
      const shape = shapeOf(clause.params, allowed);
      if (!shape || !isWritable(media, shape, offer)) return undefined;
      return {media, ...(media === 'binary' ? {naming: binary!} : media === 'cbor' ? {cbor: cbor!} : {}), shape: shape.shape, shapeVersion: shape.version, contentType: contentTypeOf(media, clause, shape.shape, offer), ...(clause.params.get('pretty') === '1' && {pretty: true})};
    })
    .find(accepted => accepted !== undefined);
  if (key.length > longestCached) return found;
  agreements.set(key, found ?? null);
  return found;
};
