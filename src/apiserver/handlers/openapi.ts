import {header, type ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {MergedOpenApi} from '#src/apiserver/aggregation/merged-openapi.js';
import type {Registration} from '#src/apiserver/aggregation/registrations.js';
import {unpackDocument, type PackedDocument} from '#src/schema/openapi/packing.js';
import {compressedHeaders, isCompressed} from '#src/serving/compression.js';
import type {Handler, RequestContext} from '#src/apiserver/request/context.js';
import type {Route} from './route.js';

const json = 'application/json';
/**
 * The binary form of the version 2 document: the media type that clients request, which contains a character that media
 * types must not have, and the one in responses.
 */
const messageAlias = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const message = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** The first of the offered forms that the client accepts, if any; JSON without an Accept header. */
const accepted = (value: string | undefined, offered: readonly string[]): string | undefined => {
  if (!value) return json;
  for (const clause of value.split(',')) {
    const type = clause.split(';')[0]!.trim();
    if (['application/json', 'application/*', '*/*'].includes(type)) return json;
    if (offered.includes(type)) return type;
  }
  return undefined;
};

/** As in the original's responses. A request for a range gets the whole document. */
const acceptsRanges = {'Accept-Ranges': 'bytes'};

const yearMs = 365 * 24 * 3600 * 1000;

/** When each document was first requested. */
const firstRequestedAt = new WeakMap<PackedDocument, number>();

/** Whether the client's copy is current, by the document's hash or, where the request names none, by its date. */
const isCurrent = ({request}: RequestContext, etag: string | undefined, modifiedAt: number): boolean => {
  const known = header(request, 'if-none-match');
  if (known === undefined) return Date.parse(header(request, 'if-modified-since') ?? '') >= modifiedAt;
  return known.split(',').some(tag => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
};

const wholeSecond = (clock: Clock): number => Math.floor(clock.now() / 1000) * 1000;

const documentBody = async (
  {request}: RequestContext,
  document: PackedDocument,
  headers: Record<string, string>,
  contentType: string,
): Promise<ApiResponse> => {
  if (isCompressed(request, document.size))
    return {status: 200, headers: compressedHeaders(headers), body: {kind: 'bytes', bytes: document.packed, contentType}};
  return {status: 200, headers, body: {kind: 'bytes', bytes: await unpackDocument(document), contentType}};
};

const documentResponse = async (
  context: RequestContext,
  document: PackedDocument,
  clock: Clock,
  headers: Record<string, string>,
  contentType = json,
): Promise<ApiResponse> => {
  const etag = `"${document.hash}"`;
  const modifiedAt = firstRequestedAt.get(document) ?? wholeSecond(clock);
  firstRequestedAt.set(document, modifiedAt);
  const identifying = {ETag: etag, Vary: 'Accept', ...headers};
  if (isCurrent(context, etag, modifiedAt)) return {status: 304, headers: identifying, body: {kind: 'empty'}};
  const all = {...identifying, 'Last-Modified': new Date(modifiedAt).toUTCString(), ...acceptsRanges};
  return documentBody(context, document, all, contentType);
};

/**
 * The index, dated by the request: it has one form, whatever the client accepts, and no hash. Dates are whole seconds:
 * a client whose copy is from the second in which this index was first requested may have its predecessor, and gets it
 * again. (kubectl would miss a group that was defined in that second.)
 */
const indexResponse = async (context: RequestContext, documents: Promise<MergedOpenApi>, clock: Clock): Promise<ApiResponse> => {
  const modifiedAt = wholeSecond(clock);
  const index = await (await documents).index();
  const requestedAt = firstRequestedAt.get(index) ?? modifiedAt;
  firstRequestedAt.set(index, requestedAt);
  const dated = {'Last-Modified': new Date(modifiedAt).toUTCString()};
  if (requestedAt < modifiedAt && isCurrent(context, undefined, modifiedAt)) {
    return {status: 304, headers: dated, body: {kind: 'empty'}};
  }
  return documentBody(context, index, {...dated, ...acceptsRanges}, json);
};

export interface OpenApiRouteOptions {
  documents(): Promise<MergedOpenApi>;
  /** Returns a handler that relays requests to the server of a registered version. */
  relayTo(registration: Registration): Handler;
  readonly clock: Clock;
}

/** The routes of the OpenAPI documents, which are made on request. */
export const openApiRoutes = ({documents, relayTo, clock}: OpenApiRouteOptions): Route[] => {
  const handler =
    (
      vary: string,
      respond: (context: RequestContext, all: MergedOpenApi, form: string) => Promise<ApiResponse>,
      offered: readonly string[] = [],
    ): Handler =>
    async context => {
      const form = accepted(header(context.request, 'accept'), offered);
      if (form === undefined) return {status: 406, headers: {Vary: vary}, body: {kind: 'empty'}};
      return respond(context, await documents(), form);
    };
  return [
    {
      path: '/openapi/v2',
      handler: handler(varyOfSwagger, (context, all, form) => versionTwo(context, all, form, clock), [message, messageAlias]),
    },
    {path: '/openapi/v3', handler: context => indexResponse(context, documents(), clock)},
    {path: '/openapi/v3/*', handler: handler('Accept', (context, all) => oneDocument(context, all, relayTo, clock))},
  ];
};

const varyOfSwagger = 'Accept-Encoding, Accept';

const versionTwo = async (context: RequestContext, all: MergedOpenApi, form: string, clock: Clock): Promise<ApiResponse> => {
  const headers = {Vary: varyOfSwagger};
  return form === json
    ? documentResponse(context, await all.swagger(), clock, headers)
    : documentResponse(context, await all.swaggerMessage(), clock, headers, message);
};

/** A document requested by its hash may be cached indefinitely; an outdated hash is redirected to the current one. */
const oneDocument = async (
  context: RequestContext,
  all: MergedOpenApi,
  relayTo: OpenApiRouteOptions['relayTo'],
  clock: Clock,
): Promise<ApiResponse> => {
  const name = context.info.path.slice('/openapi/v3/'.length);
  const found = all.document(name);
  if (!found) return {status: 404, headers: {}, body: {kind: 'empty'}};
  if ('groupPriority' in found) return relayTo(found)(context);
  const document = await found;
  const requestedHash = context.info.query.get('hash');
  if (requestedHash === null || requestedHash === '') return documentResponse(context, document, clock, {});
  if (requestedHash !== document.hash) {
    return {status: 301, headers: {Location: `/openapi/v3/${name}?hash=${document.hash}`, Vary: 'Accept'}, body: {kind: 'empty'}};
  }
  const expires = new Date(clock.now() + yearMs).toUTCString();
  return documentResponse(context, document, clock, {'Cache-Control': 'public, immutable', Expires: expires});
};
