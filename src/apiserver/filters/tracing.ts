// The spans of requests, with upstream's names: one for the request, and one for the operation on the resource. Users
// of the groups system:masters and system:monitoring continue the trace of their `traceparent` header; that of others
// is only linked, since they could otherwise have everything sampled.

import {header, type ApiResponse} from '#src/api/request.js';
import {StatusError} from '#src/api/status.js';
import {observe} from '#src/base/eventually.js';
import {inSpan, traced, type Span, type SpanAttributes} from '#src/base/span.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {RequestTimes} from '#src/apiserver/request/context.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {Filter} from './filter.js';
import type {Entered, Identified} from './stages.js';

const trustedGroups: readonly string[] = ['system:masters', 'system:monitoring'];

export const noAttributes = (): SpanAttributes => ({});

/** Handles a request as a span, if it is sampled. */
export const withTracing =
  (tracer: Tracer): Filter<Identified, Identified> =>
  next =>
  identified => {
    const span = requestSpan(tracer, identified);
    if (!span) return next(identified);
    addPast(span, identified.times);
    const end = (status: number, error: unknown): void => {
      span.set({'http.response.status_code': status});
      span.end(status >= 500 ? (error ?? new Error('')) : undefined);
    };
    return observe(
      () => inSpan(span, () => next(identified)),
      ({response, error}) => end(response.status, error),
      error => end(error instanceof StatusError ? (error.status.code ?? 500) : 500, error),
    );
  };

const requestSpan = (tracer: Tracer, {request, info, user, auditId, times}: Identified): Span | undefined =>
  tracer.root({
    name: info.resource ? `${request.method} ${templateOf(info)}` : request.method,
    attributes: {
      'http.request.method': request.method,
      'http.target': request.url,
      'url.scheme': 'https',
      'url.path': info.path,
      'user_agent.original': header(request, 'user-agent') ?? '',
      'client.address': request.remoteAddress,
      'audit-id': auditId,
    },
    startedAt: times.startedAt,
    traceparent: header(request, 'traceparent'),
    trustsParent: user.groups?.some(group => trustedGroups.includes(group)) ?? false,
  });

/** Adds the steps that came before the span was known to be sampled. */
const addPast = (span: Span, {startedAt, authenticationMs, impersonation}: RequestTimes): void => {
  if (authenticationMs !== undefined) span.past('authentication', startedAt, startedAt + authenticationMs);
  if (impersonation) span.past('impersonation', ...impersonation);
};

/** The path with placeholders for names. */
const templateOf = ({path, resource}: RequestInfo): string => {
  const {group, version, resource: plural, namespace, name, subresource} = resource!;
  const prefix = path.startsWith('/api/') ? '/api' : '/apis';
  return [
    prefix,
    ...(group ? [group] : []),
    version,
    ...(namespace ? ['namespaces/{:namespace}'] : []),
    plural,
    ...(name ? ['{:name}'] : []),
    ...(subresource ? [subresource] : []),
  ].join('/');
};

const operations: Readonly<Record<string, string>> = {
  get: 'Get',
  list: 'List',
  watch: 'List',
  create: 'Create',
  update: 'Update',
  patch: 'Patch',
  delete: 'Delete',
  deletecollection: 'Delete',
};

/** Runs the handler of a request as the span of its operation. */
export const withOperationSpan: Filter<Entered, Entered, ApiResponse> = next => entered => {
  const {resource, verb} = entered.info;
  const operation = resource && operations[verb];
  return operation
    ? traced(
        operation,
        () => fieldsOf(entered),
        () => next(entered),
      )
    : next(entered);
};

const fieldsOf = ({request, info, auditId}: Entered): SpanAttributes => {
  const {group, version, resource, namespace, name, subresource} = info.resource!;
  return {
    accept: header(request, 'accept') ?? '',
    'audit-id': auditId,
    client: request.remoteAddress,
    'api-group': group,
    'api-version': version,
    name,
    subresource,
    namespace,
    resource,
    scope: name ? 'resource' : namespace ? 'namespace' : 'cluster',
    url: info.path,
    'user-agent': header(request, 'user-agent') ?? '',
    verb: request.method,
  };
};
