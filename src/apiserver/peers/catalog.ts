// What the other servers on the same store serve (KEP-4020). It is read from their discovery documents whenever a
// server joins, restarts or leaves. Groups of custom resources and of aggregated servers are left out: all servers have
// the same ones, and this server knows first which are gone.

import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {requestRemote} from '#src/apiserver/aggregation/remote-request.js';
import type {Registrations} from '#src/apiserver/aggregation/registrations.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {TargetTls} from '#src/transport/dial.js';
import type {Connections} from '#src/transport/http1/connections.js';
import {groupsIn, nameOf, type DiscoveredItem} from './documents.js';
import type {PeerEndpoints} from './endpoints.js';

/** The header of a request that a peer has passed on: it is served here or not at all. */
export const peerProxiedHeader = 'x-kubernetes-peer-proxied';

const timeoutMs = 5000;
/** How long versions count as custom after they are gone, until all servers know that. */
const graceMs = 5 * 60_000;
/** The delay after which changes of custom versions are noticed. */
const settleMs = 1000;

export interface PeerCatalogParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly registrations: Registrations;
  readonly endpoints: Pick<PeerEndpoints, 'get'>;
  readonly backends: Connections;
  /** The TLS settings for connections to peers; the same object while nothing changes. */
  tls(): TargetTls;
  readonly signal: AbortSignal;
}

/** What one peer serves: its groups in `/apis`, and all its resources as `group/version/resource`. */
interface Peer {
  readonly groups: readonly DiscoveredItem[];
  readonly resources: ReadonlySet<string>;
}

const resourceKey = (group: string, version: string, resource: string): string => `${group}/${version}/${resource}`;

/** What the other servers serve. */
export class PeerCatalog {
  readonly #parts: PeerCatalogParts;
  readonly #listeners = new Set<() => void>();
  #peers: ReadonlyMap<string, Peer> = new Map();
  /** The current versions of custom resources and aggregated servers, and since when former ones are gone. */
  #custom: ReadonlySet<string> = new Set();
  readonly #gone = new Map<string, number>();
  #checking: Disposable | undefined;

  constructor(parts: PeerCatalogParts) {
    this.#parts = parts;
    this.#noticeCustom();
    parts.registry.onChange(() => this.#noticeSoon());
    parts.registrations.onChange(() => this.#noticeSoon());
    parts.signal.addEventListener('abort', () => this.#checking?.[Symbol.dispose](), {once: true});
  }

  /** Calls `listener` after each change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** Returns the identities of the peers that serve a resource. */
  serversOf(group: string, version: string, resource: string): readonly string[] {
    if (this.#peers.size === 0 || this.#isCustom(`${group}/${version}`)) return [];
    const key = resourceKey(group, version, resource);
    return [...this.#peers].filter(([, {resources}]) => resources.has(key)).map(([id]) => id);
  }

  /** The groups of each peer, without versions of custom resources and aggregated servers. */
  get groups(): readonly (readonly DiscoveredItem[])[] {
    return [...this.#peers.values()].map(({groups}) =>
      groups
        .map(group => ({...group, versions: group.versions.filter(({version}) => !this.#isCustom(`${nameOf(group)}/${version}`))}))
        .filter(({versions}) => versions.length > 0),
    );
  }

  /**
   * Reads again what these peers serve. Rejects with the first failure after all were asked; peers that did not answer
   * are left out.
   */
  async refresh(ids: readonly string[]): Promise<void> {
    const found = await Promise.allSettled(ids.map(async id => [id, await this.#read(id)] as const));
    this.#peers = new Map(found.flatMap(result => (result.status === 'fulfilled' ? [result.value] : [])));
    this.#changed();
    const failed = found.find(result => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #read(id: string): Promise<Peer> {
    const [core, groups] = [await this.#document(id, '/api'), await this.#document(id, '/apis')];
    const resources = [...core, ...groups].flatMap(group =>
      group.versions.flatMap(({version, resources: of = []}) => of.map(({resource}) => resourceKey(nameOf(group), version, resource))),
    );
    return {groups, resources: new Set(resources)};
  }

  async #document(id: string, path: string): Promise<readonly DiscoveredItem[]> {
    const {endpoints, backends, naming, tls} = this.#parts;
    const at = await endpoints.get(id);
    if (!at) throw new Error(`the address of the server ${id} is not known`);
    const user = naming.componentUser('apiserver');
    const group = naming.group('apidiscovery');
    const accept = ['v2;as=APIGroupDiscoveryList;profile=nopeer', 'v2;as=APIGroupDiscoveryList']
      .map(form => `application/json;g=${group};v=${form}`)
      .join(',');
    const {status, body} = await requestRemote(backends, {
      at: {host: at.host, port: at.port},
      tls: tls(),
      path,
      user: {name: user, uid: user, groups: [wellKnown.authenticated]},
      headers: {accept, [peerProxiedHeader]: 'true'},
      timeoutMs,
    });
    if (status !== 200) throw new Error(`discovery request failed with status: ${status}`);
    return groupsIn(body);
  }

  #isCustom(groupVersion: string): boolean {
    const gone = this.#gone.get(groupVersion);
    if (gone !== undefined && gone + graceMs < this.#parts.clock.monotonic()) this.#gone.delete(groupVersion);
    return this.#custom.has(groupVersion) || this.#gone.has(groupVersion);
  }

  #noticeSoon(): void {
    if (this.#parts.signal.aborted) return;
    this.#checking ??= this.#parts.clock.schedule(settleMs, () => {
      this.#checking = undefined;
      this.#noticeCustom();
      this.#changed();
    });
  }

  #noticeCustom(): void {
    const {registry, registrations, clock} = this.#parts;
    const current = new Set([
      ...registry.custom.map(({kind}) => registry.settings.naming.apiVersion(kind.group, kind.version)),
      ...registrations.remote.map(({group, version}) => `${group}/${version}`),
    ]);
    for (const version of this.#custom) if (!current.has(version)) this.#gone.set(version, clock.monotonic());
    for (const version of current) this.#gone.delete(version);
    this.#custom = current;
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
