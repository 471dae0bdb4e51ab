// What the handlers of all verbs share: the services they use, the negotiated form of responses, and the check for
// creation by update or patch.

import type {Naming} from '#src/api/naming.js';
import {notAcceptable, shapeMismatch, shapeNotAcceptable, type StatusError} from '#src/api/status.js';
import {header, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {Reader} from '#src/api/reader.js';
import type {KubeObject} from '#src/api/types.js';
import type {ActionContext, VirtualContext} from '#src/resources/definition.js';
import type {Gauge} from '#src/base/meter.js';
import {ownValue} from '#src/base/own.js';
import type {Attributes, Authorizer} from '#src/api/authorization.js';
import {denial} from '#src/serving/authorizers/denial.js';
import {representation, type Representation} from '#src/apiserver/present/representation.js';
import {includeObject} from '#src/apiserver/present/table.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {ServedResource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {Stored} from '#src/apiserver/registry/write/stored.js';
import {managerOfAgent} from '#src/apiserver/registry/write/field-ownership.js';
import {recordJson} from '#src/apiserver/registry/record.js';
import {cborMediaType} from '#src/schema/cbor/media-types.js';
import type {CborEncoding} from '#src/apiserver/request/cbor-encoding.js';
import type {RequestContext, ResourceContext} from '#src/apiserver/request/context.js';
import {namedClauses} from '#src/serving/accept.js';
import type {LargeRequests} from '#src/apiserver/request/large.js';
import {acceptsPlainJson, negotiate, plainJson, type Accepted, type Offer, type Shape} from '#src/apiserver/request/media-type.js';
import type {WatchSettings} from '#src/apiserver/watch/request.js';
import type {Network} from '#src/transport/network.js';
import type {Connections} from '#src/transport/http1/connections.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import type {AgentAccess} from './agent-trust.js';
import {encoded} from './encode.js';
import type {ConnectMetrics} from './connect-metrics.js';

/** The services that the handlers of resources share. */
export interface ResourceServices {
  readonly registry: Registry;
  readonly authorizer: Authorizer;
  readonly watch: WatchSettings;
  authenticateToken: ActionContext['authenticateToken'];
  rulesFor: ActionContext['rulesFor'];
  components: VirtualContext['components'];
  readonly usage: VirtualContext['usage'];
  readonly reader: Reader;
  readonly tokens: ActionContext['tokens'];
  readonly network: Network;
  readonly backends: Connections;
  readonly agents: AgentAccess;
  /** The limit of each upgraded connection to a pod, node or service; undefined for none. */
  readonly connectBytesPerSecond: number | undefined;
  readonly connectMetrics: ConnectMetrics;
  /** The deprecated versions that were requested. */
  readonly deprecatedRequests: Gauge;
  readonly largeRequests: LargeRequests | undefined;
}

/** What is requested: one object, a list, a watch, or the result of an action, which has no columns. */
type Wanted = 'item' | 'list' | 'watch' | 'outcome';

const shapes: Readonly<Record<Wanted, ReadonlySet<Shape>>> = {
  item: new Set(['object', 'Table', 'PartialObjectMetadata']),
  list: new Set(['object', 'Table', 'PartialObjectMetadataList']),
  watch: new Set(['object', 'Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']),
  outcome: new Set(['object', 'PartialObjectMetadata']),
};

/** The kind of a response's object, and its naming. */
export interface ResponseKind {
  readonly naming: Naming;
  readonly apiVersion: string;
  readonly kind: string;
  readonly cbor: CborEncoding | undefined;
  /** Upstream's package of the kind's type; absent for custom resources. */
  readonly package?: string | undefined;
}

/** The naming and codecs of a server's responses. */
export type ResponseEncodings = Pick<ResponseKind, 'naming' | 'cbor'>;

export const statusKind = ({naming, cbor}: ResponseEncodings): ResponseKind => ({
  naming,
  cbor,
  apiVersion: 'v1',
  kind: 'Status',
  package: 'v1',
});

/** The naming in which a kind has a binary form, once the codec is loaded. */
const binaryOf = ({naming, apiVersion, kind}: ResponseKind): Naming | undefined =>
  loadedCodec()?.hasProtobuf(apiVersion, kind, naming) ? naming : undefined;

const offerOf = (responseKind: ResponseKind): Offer => {
  const binary = binaryOf(responseKind);
  return {
    binary: binary ?? (loadedCodec() ? responseKind.naming : undefined),
    onlyMetadata: !binary,
    cbor: responseKind.cbor,
  };
};

/** Negotiates the form of the response. Throws 406 when the client accepts none of the available ones. */
export const acceptedShape = ({request}: RequestContext, requested: Wanted, responseKind: ResponseKind): Accepted => {
  const accept = header(request, 'accept');
  const accepted =
    passesRoute(accept, responseKind) &&
    negotiate(accept, requested, shapes[requested], {...offerOf(responseKind), stream: requested === 'watch'});
  if (!accepted) throw unacceptable(accept ?? '', requested, responseKind);
  return accepted;
};

const mediaTypes = ({naming, cbor}: ResponseKind): string[] => [
  'application/json',
  'application/yaml',
  naming.protobufMediaType,
  ...(cbor ? [cborMediaType] : []),
];

/** The paths of built-in kinds accept known media types and the full wildcard; `application/*` is neither. */
const passesRoute = (accept: string | undefined, responseKind: ResponseKind): boolean =>
  responseKind.package === undefined || !accept?.includes('application/*') || namedClauses(accept, mediaTypes(responseKind)).length > 0;

/** The 406: no media type matches, or only in an unsupported shape. */
const unacceptable = (accept: string, requested: Wanted, responseKind: ResponseKind): StatusError => {
  const media = mediaTypes(responseKind);
  const clauses = namedClauses(accept, media);
  const isBuiltIn = responseKind.package !== undefined;
  // It would do for a list, but not for a stream.
  if (requested === 'watch' && negotiate(accept, requested, shapes[requested], offerOf(responseKind)))
    return shapeNotAcceptable(streamTypes(responseKind));
  if (clauses.length === 0 && isBuiltIn) return notAcceptable(offered(responseKind, requested));
  const other = requested === 'list' ? 'PartialObjectMetadata' : requested === 'item' ? 'PartialObjectMetadataList' : undefined;
  const isOther = isBuiltIn && other !== undefined && clauses.some(({params}) => params.get('as') === other);
  return isOther ? shapeMismatch(other, `*${responseKind.package}.${responseKind.kind}`) : shapeNotAcceptable(media);
};

/** The available media types: a kind without a binary form has at least one for its metadata. */
const offered = (responseKind: ResponseKind, requested: Wanted): string[] => {
  const media = mediaTypes(responseKind);
  return requested === 'list' || requested === 'watch' ? [...media, ...streamTypes(responseKind)] : media;
};

const streamTypes = ({naming}: ResponseKind): string[] =>
  ['application/json', naming.protobufMediaType].map(type => `${type};stream=watch`);

export const representationFor = (context: RequestContext, served: ServedResource, requested: Wanted): Representation => {
  // Nothing else needs to be known for what most clients accept.
  if (acceptsPlainJson(header(context.request, 'accept'))) return representation(served, plainJson, 'Metadata');
  const {kind, resource} = served;
  const {naming, cbor} = resource.settings;
  const accepted = acceptedShape(context, requested, {
    naming,
    cbor,
    apiVersion: naming.apiVersion(kind.group, kind.version),
    kind: requested === 'list' ? kind.listKind : kind.kind,
    package: resource.isCustom ? undefined : naming.packageOf(kind.group),
  });
  return representation(served, accepted, accepted.shape === 'Table' ? includeObject(context.info.query.get('includeObject')) : 'Metadata');
};

/** What is asked for where a whole object is answered: some addresses know no tables. */
export const wantedItem = ({resource: {definition}}: ServedResource, {target: {subresource}}: ResourceContext): 'item' | 'outcome' =>
  subresource && ownValue(definition.subresources, subresource)?.hasNoTable ? 'outcome' : 'item';

/**
 * Whether any of the media types that an address answers in is accepted: a request that accepts none does not get to
 * the address.
 */
export const reachesAddress = (
  {request}: RequestContext,
  {
    kind,
    resource: {
      definition,
      settings: {naming, cbor},
    },
  }: ServedResource,
): boolean => {
  const accept = header(request, 'accept');
  return (
    accept === undefined ||
    definition.custom !== undefined ||
    namedClauses(accept, mediaTypes({naming, cbor, apiVersion: naming.apiVersion(kind.group, kind.version), kind: kind.kind})).length > 0
  );
};

/** The answer that carries one object (which must be frozen when it is shared). */
export const objectResponse = (context: RequestContext, shown: Representation, object: Readonly<KubeObject>, status = 200): ApiResponse => {
  const pretty = isPretty(context);
  return {status, headers: {}, body: encoded(shown.accepted, () => shown.one(object), pretty)};
};

/** The response for a written object, by its stored bytes if the client requests the stored form. */
export const storedResponse = (context: RequestContext, shown: Representation, stored: Stored, status = 200): ApiResponse => {
  const {value, revision} = stored;
  if (!shown.raw || revision === 0 || isPretty(context)) return objectResponse(context, shown, stored.object, status);
  return {
    status,
    headers: {},
    body: {
      kind: 'object',
      contentType: shown.accepted.contentType,
      bytes: () => recordJson(value, revision, '', '\n'),
      object: () => stored.object,
    },
  };
};

/** The form of an error. */
export interface ErrorFormat {
  readonly accepted: Accepted;
  readonly pretty: boolean;
}

const plainShapes: ReadonlySet<Shape> = new Set(['object']);

/**
 * The requested form of errors; JSON if the client accepts none of the available ones, so that it gets the original
 * error.
 */
export const errorFormat = (request: ApiRequest, encodings: ResponseEncodings): ErrorFormat => {
  const mark = request.url.indexOf('?');
  const accepted = negotiate(header(request, 'accept'), 'error', plainShapes, {
    binary: binaryOf(statusKind(encodings)),
    cbor: encodings.cbor?.loaded,
  });
  return {
    accepted: accepted ?? plainJson,
    pretty: !accepted || isIndented(request, mark < 0 ? noQuery : new URLSearchParams(request.url.slice(mark + 1))),
  };
};

const noQuery = new URLSearchParams();
const yes = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** Whether the body is indented: on request, or for interactive tools. */
export const isPretty = ({request, info}: RequestContext): boolean => isIndented(request, info.query);

const isIndented = (request: ApiRequest, query: URLSearchParams): boolean => {
  const pretty = query.get('pretty');
  if (pretty) return yes.has(pretty);
  const agent = header(request, 'user-agent') ?? '';
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
};

export const writeContext = (context: ResourceContext, {kind}: ServedResource, dryRun: boolean): WriteContext => ({
  user: context.user,
  dryRun,
  served: kind,
  manager: context.info.query.get('fieldManager') || managerOfAgent(header(context.request, 'user-agent') ?? ''),
  warn: text => context.warnings.add(text),
  annotate: context.notes && ((key, text, least) => context.notes!.annotate(key, text, least)),
  original: context,
});

/** Throws 403 unless the user may create the target: for writes that turn out to be creations. */
export const checkCreatePermission = async ({authorizer}: ResourceServices, context: ResourceContext): Promise<void> => {
  const {group, version, resource, namespace, name} = context.target;
  const attributes: Attributes = {
    user: context.user,
    verb: 'create',
    resource: {group, version, resource, subresource: '', namespace, name},
    path: context.info.path,
  };
  const decision = await authorizer.authorize(attributes);
  if (decision.decision !== 'allow') throw denial(attributes, decision.reason);
};
