// The attributes of a request, from its method and URL: verb, resource, subresource, namespace, name. All decisions
// about a request use these; no other module parses paths. Whether the resource exists is checked later, by the router.

import type {Attributes} from '#src/api/authorization.js';
import {pathSegmentProblems} from '#src/api/names.js';
import {parseFieldSelector, pinnedValue} from '#src/api/selectors/field-selector.js';
import {badRequest} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {internalRefusal, MalformedRequest, type PlainRefusal} from './plain-refusal.js';

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
  const parts = path.split('/');
  if (parts[1] !== 'api' && parts[1] !== 'apis') return {verb: method.toLowerCase(), path, query};
  const isGrouped = parts[1] === 'apis';
  while (parts.at(-1) === '') parts.pop();
  const group = (isGrouped && parts[2]) || '';
  const versionAt = isGrouped ? 3 : 2;
  const version = parts[versionAt];
  const first = parts[versionAt + 1];
  if ((first === 'watch' || first === 'proxy') && parts.length === versionAt + 2) throw lacksResource(url);
  const isOldWatch = first === 'watch';
  const at = versionAt + (isOldWatch ? 2 : 1);
  const rest = segmentsBelow(parts, at, group);
  if (!version || (isGrouped && group === '') || rest < 0) return {verb: method.toLowerCase(), path, query};

  const resource = parts[rest - 1]!;
  const item = parts.length > rest;
  const namespace = parts[at] === 'namespaces' ? (parts[at + 1] ?? '') : '';
  const spaced = rest > at + 1 || (resource === 'namespaces' && item);
  if (spaced && (item || namespace !== '')) checkSegment('Namespace', namespace);
  // An unsupported method is reported before a malformed name.
  if (item && itemVerbs.has(method) && (method !== 'POST' || parts.length > rest + 1)) checkSegment('Name', parts[rest]!);
  const verb = isOldWatch ? oldWatchVerb(method) : verbOf(method, query, item ? itemVerbs : collectionVerbs);
  const name = parts[rest] || (isOfMany(verb) ? nameFromSelector(query.get('fieldSelector')) : '');
  const subresource = subresourceIn(parts, rest + 1);
  return {
    verb,
    path,
    query,
    ...(method === 'HEAD' ? {onlyHeaders: true} : {}),
    resource: {group, version, resource, subresource, namespace, name, item, ...(spaced && namespace === '' ? {inNoNamespace: true} : {})},
  };
};

/** The refusal of a path that ends with the verb it begins with. */
const lacksResource = (url: string): PlainRefusal =>
  internalRefusal(url, `failed to create RequestInfo: unable to determine kind and namespace from url, ${url}`);

/**
 * Where the segments below a resource begin, of a path whose segments from `at` on name it, perhaps in a namespace; -1
 * if they name none.
 */
const segmentsBelow = (parts: readonly string[], at: number, group: string): number => {
  if (parts.length <= at) return -1;
  const isNamespaced = parts[at] === 'namespaces' && parts.length > at + 2 && !namespaceSubresources.has(parts[at + 2]!);
  // A namespace lies in no other: rights in one must not reach another by this path. Objects of other groups may.
  if (isNamespaced && group === '' && parts[at + 2] === 'namespaces') return -1;
  const rest = isNamespaced ? at + 3 : at + 1;
  // A path that continues below a name without subresource has no handler.
  return parts.length > rest + 1 && parts[rest] === '' ? -1 : rest;
};

/** The path behind a proxy is not split. */
const subresourceIn = (parts: readonly string[], at: number): string => {
  if (parts.length <= at) return '';
  return parts[at] === 'proxy' || parts.length === at + 1 ? parts[at]! : parts.slice(at).join('/');
};

const isOfMany = (verb: string): boolean => verb === 'list' || verb === 'watch' || verb === 'deletecollection';

/**
 * Only reads can watch: under the old prefix every other method has a verb that nothing supports and nobody is granted.
 */
const oldWatchVerb = (method: string): string => (method === 'GET' ? 'watch' : `${method.toLowerCase()}watch`);

const verbOf = (method: string, query: URLSearchParams, verbs: typeof itemVerbs): string => {
  const verb = verbs.get(method) ?? method.toLowerCase();
  return verb === 'list' && method === 'GET' && truthy(query.get('watch')) ? 'watch' : verb;
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
export const isLongRunning = ({verb, path, query, resource}: RequestInfo): boolean =>
  verb === 'watch' ||
  verb === 'proxy' ||
  (resource === undefined
    ? path.startsWith('/debug/pprof/') || (path.startsWith('/recorder/') && truthy(query.get('watch')))
    : resource.subresource !== '' && /^(attach|exec|portforward|proxy|log)(\/|$)/.test(resource.subresource));

/** Returns the attributes of a request that an authorizer decides on. */
export const attributesOf = (user: UserInfo, {verb, path, query, resource}: RequestInfo): Attributes => {
  if (!resource) return {user, verb, path};
  const {group, version, subresource, namespace, name} = resource;
  const selects = isOfMany(verb);
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
