// Caches the discovery documents of aggregated servers. Refreshes are triggered from outside; requests of clients never
// wait for one.

import {knownApiSuffixes, type Naming} from '#src/api/naming.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {Log} from '#src/base/log.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {requestRemote, type RemoteResponse} from './remote-request.js';
import {resourcesOfList} from './resource-list.js';
import {rootOf, type Registration, type Registrations, type Remote} from './registrations.js';

/** The resources that an aggregated server serves in one version, in the form of aggregated discovery. */
export interface RemoteVersion {
  /** Whether the last request for it succeeded. */
  readonly isFresh: boolean;
  /** Absent until the first success. */
  readonly resources?: readonly unknown[];
}

/** An aggregated discovery document of one server. */
interface Document {
  readonly etag: string | undefined;
  readonly versions: ReadonlyMap<string, readonly unknown[]>;
}

export interface RemoteDiscoveryParts {
  readonly naming: Naming;
  readonly registrations: Registrations;
  readonly backends: Connections;
  readonly resolve: ServiceResolver;
  readonly log: Log;
}

const timeoutMs = 5000;
/** The size limit of a document, which is parsed in one turn of the event loop. */
const maxBytes = 2 << 20;

/** Caches the discovery documents of the aggregated servers. */
export class RemoteDiscovery {
  readonly #parts: RemoteDiscoveryParts;
  readonly #versions = new Map<string, RemoteVersion>();
  readonly #documents = new Map<string, Document>();
  readonly #listeners = new Set<() => void>();

  constructor(parts: RemoteDiscoveryParts) {
    this.#parts = parts;
  }

  /** Returns the last known state of a registration's version. */
  get(name: string): RemoteVersion {
    return this.#versions.get(name) ?? {isFresh: false};
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Requests the document again. On failure the last one is kept, marked as stale. Never rejects. */
  async refresh(name: string): Promise<void> {
    const {registrations, log} = this.#parts;
    const registration = registrations.get(name);
    const {remote} = registration ?? {};
    if (!registration || !remote) return this.#keep(name, undefined);
    try {
      const resources = await this.#requestDocument(registration, remote);
      this.#keep(name, {isFresh: true, ...(resources ? {resources} : {})});
    } catch (error) {
      log.v(1).info({apiservice: name, err: error}, 'what a server behind this one serves could not be found out');
      this.#keep(name, {...this.#versions.get(name), isFresh: false});
    }
  }

  #keep(name: string, version: RemoteVersion | undefined): void {
    const before = this.#versions.get(name);
    if (version) this.#versions.set(name, version);
    else this.#versions.delete(name);
    if (!version && !before) return;
    if (version && before && version.isFresh === before.isFresh && JSON.stringify(version.resources) === JSON.stringify(before.resources))
      return;
    for (const listener of this.#listeners) listener();
  }

  async #requestDocument(registration: Registration, remote: Remote): Promise<readonly unknown[] | undefined> {
    const {naming} = this.#parts;
    const {namespace, name, port} = remote.service;
    const key = `${namespace}/${name}:${port}`;
    const known = this.#documents.get(key);
    const gv = `${registration.group}/${registration.version}`;
    const response = await this.#request(
      remote,
      '/apis',
      {groups: [wellKnown.masters]},
      {accept: acceptAggregated(naming), ...(known?.etag ? {'if-none-match': known.etag} : {})},
    );
    if (response.status === 304 && known) return known.versions.get(gv);
    if (response.status === 503) throw new Error(`service ${key} returned non-success response code: 503`);
    if (response.status === 200 && isAggregated(response.header('content-type'))) {
      const document = {etag: response.header('etag'), versions: versionsOf(JSON.parse(response.body.toString()))};
      this.#documents.set(key, document);
      return document.versions.get(gv);
    }
    const path = rootOf(registration);
    const list = await this.#request(remote, path, {groups: []}, {accept: 'application/json'});
    if (list.status !== 200) throw new Error(`failed to download legacy discovery for ${path}: status ${list.status}`);
    return resourcesOfList(JSON.parse(list.body.toString())).map(readable);
  }

  async #request(
    {service, tls}: Remote,
    path: string,
    {groups}: Pick<UserInfo, 'groups'>,
    headers: Readonly<Record<string, string>>,
  ): Promise<RemoteResponse> {
    const {naming, backends, resolve} = this.#parts;
    if (tls instanceof Error) throw tls;
    return requestRemote(backends, {
      at: await resolve(service),
      tls,
      path,
      user: {name: naming.componentUser('aggregator'), groups},
      headers,
      maxBytes,
      timeoutMs,
    });
  }
}

/** This server's own naming first, then the others that servers may use. */
const acceptAggregated = (naming: Naming): string => {
  const groups = [...new Set([naming.group('apidiscovery'), ...knownApiSuffixes.map(suffix => `apidiscovery.${suffix}`)])];
  return groups
    .flatMap(group => ['v2', 'v2beta1'].map(version => `application/json;g=${group};v=${version};as=APIGroupDiscoveryList`))
    .join(',');
};

const isAggregated = (contentType = ''): boolean =>
  /;\s*as=APIGroupDiscoveryList\b/.test(contentType) && /;\s*v=v2(beta1)?\b/.test(contentType);

const listOf = (value: unknown, field: string): readonly PlainObject[] => {
  const list = isPlainObject(value) ? value[field] : undefined;
  return Array.isArray(list) ? list.filter(isPlainObject) : [];
};

const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter(item => typeof item === 'string') : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Some clients fail on an entry without a kind. */
const kindOf = ({responseKind}: PlainObject): object => {
  const {group, version, kind} = isPlainObject(responseKind) ? responseKind : {};
  return {group: text(group), version: text(version), kind: text(kind)};
};

const named = (field: 'shortNames' | 'categories', of: PlainObject): object =>
  texts(of[field]).length > 0 ? {[field]: texts(of[field])} : {};

/** Keeps only the fields that clients use. */
const readable = (resource: PlainObject): object => {
  const subresources = listOf(resource, 'subresources').map(each => ({
    subresource: text(each['subresource']),
    responseKind: kindOf(each),
    verbs: texts(each['verbs']),
  }));
  return {
    resource: text(resource['resource']),
    responseKind: kindOf(resource),
    scope: text(resource['scope']),
    singularResource: text(resource['singularResource']),
    verbs: texts(resource['verbs']),
    ...named('shortNames', resource),
    ...named('categories', resource),
    ...(subresources.length > 0 ? {subresources} : {}),
  };
};

const versionsOf = (document: unknown): ReadonlyMap<string, readonly unknown[]> =>
  new Map(
    listOf(document, 'items').flatMap(group => {
      const {metadata} = group;
      const name = isPlainObject(metadata) ? String(metadata['name'] ?? '') : '';
      return listOf(group, 'versions').map(
        version => [`${name}/${String(version['version'])}`, listOf(version, 'resources').map(readable)] as const,
      );
    }),
  );
