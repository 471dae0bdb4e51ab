// The attributes of a request, from its method and URL: verb, resource, subresource, namespace, name. All decisions
// about a request use these; no other module parses paths. Whether the resource exists is checked later, by the router.

import type {Attributes} from '#src/api/authorization.js';
import {pathSegmentProblems} from '#src/api/names.js';
import {parseFieldSelector, pinnedValue} from '#src/api/selectors/field-selector.js';
import {badRequest} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {MalformedRequest} from './plain-refusal.js';

/** The attributes of a request, from its method and URL alone. */
export interface RequestInfo {
  readonly verb: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Whether the method is HEAD; its verb is that of GET. */
  readonly onlyHeaders?: boolean;
  /** Absent for paths that name no resource. */
  readonly resource?: ResourceTarget;
}

export interface ResourceTarget {
  /** The group on the wire; empty for core. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Whether the path named an object (a name taken from a field selector does not count). */
  readonly item: boolean;
  /** Whether the path has an empty segment in place of the namespace. */
  readonly inNoNamespace?: boolean;
}

/** Parses a boolean of the query: absent, `0` and `false` are false, everything else is true. */
export const truthy = (value: string | null): boolean => value !== null && value !== '0' && value.toLowerCase() !== 'false';

const noQuery = new URLSearchParams();

const bound = new CacheBound('requests', 512 << 10);
const queries = new Lru<string, URLSearchParams>(bound, {bytesOf: ({size}) => 300 + 200 * size});

/** Longer queries and addresses are not repeated. */
const longestCached = 200;

/** Returns the parameters of a query, the same object for an equal query. They must not be changed. */
const queryOf = (text: string): URLSearchParams => {
  const known = queries.peek(text);
  if (known) return known;
  const query = new URLSearchParams(text);
  if (text.length <= longestCached) queries.set(text, query);
  return query;
};

const itemVerbs: ReadonlyMap<string, string> = new Map(
  Object.entries({GET: 'get', HEAD: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete'}),
);
const collectionVerbs: ReadonlyMap<string, string> = new Map([
  ...itemVerbs,
  ['GET', 'list'],
  ['HEAD', 'list'],
  ['DELETE', 'deletecollection'],
]);
const namespaceSubresources = new Set(['status', 'finalize']);

const decoded = (path: string): string => {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    // The original's HTTP server refuses it before authentication.
    throw new MalformedRequest();
  }
};

const creations = new Lru<string, RequestInfo>(bound, {bytesOf: () => 600});

/**
 * Classifies a request (the API reference, API access: request attributes). Throws 400 for a path with malformed
 * percent-encoding.
 */
export const requestInfo = (method: string, url: string): RequestInfo => {
  // Objects of a kind are created at the same address.
  if (method !== 'POST' || url.length > longestCached) return classified(method, url);
  let info = creations.peek(url);
  if (!info) creations.set(url, (info = classified(method, url)));
  return info;
};

const classified = (method: string, url: string): RequestInfo => {
  const mark = url.indexOf('?');
  // Escaped slashes separate segments like others.
  const path = decoded(mark < 0 ? url : url.slice(0, mark));
  const query = mark < 0 ? noQuery : queryOf(url.slice(mark + 1));
  const plain = (): RequestInfo => ({verb: method.toLowerCase(), path, query});

  const parts = path.split('/');
  let at: number;
  let group = '';
  if (parts[1] === 'api') at = 2;
  else if (parts[1] === 'apis') {
    group = parts[2] ?? '';
    at = 3;
  } else return plain();
  const version = parts[at++];
  while (parts.at(-1) === '') parts.pop();
  if (!version || (at > 3 && group === '') || parts.length <= at) return plain();
  const watchPrefix = parts[at] === 'watch' && parts.length > at + 1;
  if (watchPrefix) at++;

  let namespace = '';
  let resource = parts[at]!;
  let name = '';
  let subresource = '';
  let rest = at + 1;
  if (resource === 'namespaces' && parts.length > at + 1) {
    namespace = parts[at + 1]!;
    if (parts.length > at + 2 && !namespaceSubresources.has(parts[at + 2]!)) {
      resource = parts[at + 2]!;
      rest = at + 3;
      // A namespace lies in no other: rights in one must not reach another by this path.
      if (resource === 'namespaces') return plain();
    }
  }
  const item = parts.length > rest;
  if (item) name = parts[rest]!;
  // A path that continues below a name without subresource has no handler.
  if (item && name === '' && parts.length > rest + 1) return plain();
  const spaced = resource === 'namespaces' ? item : rest > at + 1;
  const verbs = item ? itemVerbs : collectionVerbs;
  if (spaced && (item || namespace !== '')) checkSegment('Namespace', namespace);
  // An unsupported method is reported before a malformed name.
  if (item && verbs.has(method) && (method !== 'POST' || parts.length > rest + 1)) checkSegment('Name', name);
  // The path behind a proxy is not split.
  if (parts.length > rest + 1) subresource = parts[rest + 1] === 'proxy' ? 'proxy' : parts.slice(rest + 1).join('/');

  let verb = verbs.get(method) ?? method.toLowerCase();
  // Only reads can watch: under the old prefix every other method has a verb that nothing supports and nobody is
  // granted.
  if (watchPrefix) verb = method === 'GET' ? 'watch' : `${method.toLowerCase()}watch`;
  else if (verb === 'list' && method === 'GET' && truthy(query.get('watch'))) verb = 'watch';
  if (!name && (verb === 'list' || verb === 'watch' || verb === 'deletecollection')) name = nameFromSelector(query.get('fieldSelector'));
  return {
    verb,
    path,
    query,
    ...(method === 'HEAD' ? {onlyHeaders: true} : {}),
    resource: {group, version, resource, subresource, namespace, name, item, ...(spaced && namespace === '' ? {inNoNamespace: true} : {})},
  };
};

/**
 * The name to which a field selector restricts a collection, if it does. Parsed as the list itself parses it: an
 * escaped comma separates no terms.
 */
const nameFromSelector = (selector: string | null): string => {
  if (!selector || !selector.includes('metadata.name')) return '';
  const name = pinnedName(selector) ?? '';
  return pathSegmentProblems(name).length === 0 ? name : '';
};

const pinnedName = (selector: string): string | undefined => {
  try {
    return pinnedValue(parseFieldSelector(selector), 'metadata.name');
  } catch {
    return undefined; // Refused later, with its error.
  }
};

/** Names become parts of keys: those that could address another key are refused at once. */
const checkSegment = (what: 'Name' | 'Namespace', value: string): void => {
  // Nearly all names are plain, and every request passes here.
  if (value.charCodeAt(0) > 0x2f && !value.includes('/') && !value.includes('%')) return;
  if (value === '') throw badRequest(`${what} parameter required.`);
  const problems = pathSegmentProblems(value);
  if (problems.length > 0) throw badRequest(`${what} parameter invalid: ${JSON.stringify(value)}: ${problems.join(';')}`);
};

/** Whether a request is exempt from the request deadline. */
export const isLongRunning = ({verb, path, resource}: RequestInfo): boolean =>
  verb === 'watch' ||
  verb === 'proxy' ||
  (resource === undefined
    ? path.startsWith('/debug/pprof/')
    : resource.subresource !== '' && /^(attach|exec|portforward|proxy|log)(\/|$)/.test(resource.subresource));

/** Returns the attributes of a request that an authorizer decides on. */
export const attributesOf = (user: UserInfo, {verb, path, query, resource}: RequestInfo): Attributes => {
  if (!resource) return {user, verb, path};
  const {group, version, subresource, namespace, name} = resource;
  const selects = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  const labelSelector = selects ? query.get('labelSelector') : null;
  const fieldSelector = selects ? query.get('fieldSelector') : null;
  return {
    user,
    verb,
    path,
    // The path below a subresource is not part of its name.
    resource: {
      group,
      version,
      resource: resource.resource,
      subresource: subresource.split('/', 1)[0]!,
      namespace,
      name,
      ...(labelSelector && {labelSelector}),
      ...(fieldSelector && {fieldSelector}),
    },
  };
};
