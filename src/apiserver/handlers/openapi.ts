import type {ApiResponse} from '#src/api/exchange.js';
import {notAcceptable} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {OpenApiDocument, OpenApiDocuments} from '#src/schema/openapi/documents.js';
import {header, type Handler, type RequestContext} from '#src/apiserver/request/context.js';
import {pageNotFound, type Route} from '#src/apiserver/routes.js';

const json = 'application/json';
const accepted = (value: string | undefined): boolean => !value || value.split(',').some(clause => /^\s*(application\/json|application\/\*|\*\/\*)\s*(;|$)/.test(clause));

const yearMs = 365 * 24 * 3600 * 1000;

const answer = (context: RequestContext, {bytes, hash}: OpenApiDocument, headers: Record<string, string>): ApiResponse => {
  const etag = `"${hash}"`;
  const all = {ETag: etag, Vary: 'Accept', ...headers};
  if (header(context.request, 'if-none-match') === etag) return {status: 304, headers: all, body: {kind: 'empty'}};
  return {status: 200, headers: all, body: {kind: 'bytes', bytes, contentType: json}};
};

/** The routes of the OpenAPI documents; nothing is made before somebody asks. */
export const openApiRoutes = (documents: () => Promise<OpenApiDocuments>, clock: Clock): Route[] => {
  const handler =
    (respond: (context: RequestContext, all: OpenApiDocuments) => ApiResponse): Handler =>
    async context => {
      if (!accepted(header(context.request, 'accept'))) throw notAcceptable([json]);
      return respond(context, await documents());
    };
  return [
    {path: '/openapi/v2', methods: ['get', 'head'], handler: handler((context, all) => answer(context, all.swagger(), {}))},
    {path: '/openapi/v3', methods: ['get', 'head'], handler: handler((context, all) => answer(context, all.index(), {}))},
    {path: '/openapi/v3/*', methods: ['get', 'head'], handler: handler((context, all) => oneDocument(context, all, clock))},
  ];
};

/** A document under its hash may be kept for ever; under an old hash the caller is sent to the current one. */
const oneDocument = (context: RequestContext, all: OpenApiDocuments, clock: Clock): ApiResponse => {
  const name = context.info.path.slice('/openapi/v3/'.length);
  const document = all.document(name);
  if (!document) return pageNotFound();
  const asked = context.info.query.get('hash');
  if (asked === null || asked === '') return answer(context, document, {});
  if (asked !== document.hash) {
    return {status: 301, headers: {Location: `/openapi/v3/${name}?hash=${document.hash}`, Vary: 'Accept'}, body: {kind: 'empty'}};
  }
  const expires = new Date(clock.now() + yearMs).toUTCString();
  return answer(context, document, {'Cache-Control': 'public, immutable', Expires: expires});
};
