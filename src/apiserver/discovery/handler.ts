// Serves discovery: the lists of groups and versions, the resources of each version, and all of it in one document
// (aggregated discovery). Documents are cached and made again after a change of the served resources or registrations.

import {createHash} from 'node:crypto';
import {header, type ApiResponse, type ResponseBody} from '#src/api/request.js';
import {methodUnknown, notAcceptable, shapeNotAcceptable, unsupportedMedia} from '#src/api/status.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import type {Naming} from '#src/api/naming.js';
import type {Meter} from '#src/base/meter.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {encoded} from '#src/apiserver/handlers/encode.js';
import {deepFreeze} from '#src/apiserver/registry/object-cache.js';
import {isPretty} from '#src/apiserver/handlers/resource.js';
import {mediaTypeOf} from '#src/apiserver/request/body.js';
import type {Handler, RequestContext} from '#src/apiserver/request/context.js';
import {namedClauses} from '#src/serving/accept.js';
import {negotiate, type Accepted, type Shape} from '#src/apiserver/request/media-type.js';
import type {Registration, Registrations} from '#src/apiserver/aggregation/registrations.js';
import {mergedGroups, type DiscoveredItem} from '#src/apiserver/peers/documents.js';
import type {RemoteDiscovery} from '#src/apiserver/aggregation/remote-discovery.js';
import {aggregated, apiGroup, apiGroupList, apiResourceList, apiVersions} from './documents.js';
import {listing, type ListedGroup} from './listing.js';
import {discoveredGroups, type DiscoveredGroup} from './resources.js';

const rootShapes: ReadonlySet<Shape> = new Set(['object', 'APIGroupDiscoveryList']);
const plainShapes: ReadonlySet<Shape> = new Set(['object']);

/** The discovery data of the aggregated servers. */
export interface AggregatedDiscovery {
  readonly registrations: Registrations;
  readonly discovery: Pick<RemoteDiscovery, 'get' | 'onChange'>;
}

/** What the other servers on the same store serve. */
export interface PeerDiscovery {
  /** The groups of each server. */
  readonly groups: readonly (readonly DiscoveredItem[])[];
  onChange(listener: () => void): void;
}

/** Serves discovery. Documents are cached until the served resources change. */
export class Discovery {
  readonly #registry: Registry;
  readonly #serverAddress: string;
  readonly #aggregation: AggregatedDiscovery | undefined;
  readonly #peers: PeerDiscovery | undefined;
  readonly #metrics: ReturnType<typeof peerMetrics> | undefined;
  #groups: readonly DiscoveredGroup[] | undefined;
  #listed: readonly ListedGroup[] | undefined;
  readonly #documents = new Map<string, {body: ResponseBody; etag: string}>();

  constructor(registry: Registry, serverAddress: string, {aggregation, peers}: DiscoverySources = {}) {
    this.#registry = registry;
    this.#peers = peers;
    this.#metrics = peers && peerMetrics(registry.settings.meter);
    this.#serverAddress = serverAddress;
    this.#aggregation = aggregation;
    const changed = () => {
      this.#listed = undefined;
      this.#documents.clear();
    };
    registry.onChange(() => {
      this.#groups = undefined;
      changed();
    });
    aggregation?.registrations.onChange(changed);
    aggregation?.discovery.onChange(changed);
    peers?.onChange(changed);
  }

  /** The groups that this server serves itself. */
  get groups(): readonly DiscoveredGroup[] {
    return (this.#groups ??= discoveredGroups(this.#registry));
  }

  /** The groups of this server and of the aggregated ones. */
  get listed(): readonly ListedGroup[] {
    return (this.#listed ??= listing(this.#registry.settings.naming, this.groups, this.#aggregation?.registrations));
  }

  /** The paths of groups and their versions. */
  get paths(): readonly string[] {
    return this.listed.flatMap(({name, versions}) => {
      const root = name === '' ? '/api' : `/apis/${name}`;
      return [root, ...versions.map(({version}) => `${root}/${version}`)];
    });
  }

  /**
   * Returns the handler of a discovery path, if it exists. The lists of groups accept any method, those of resources
   * only GET.
   */
  handler(path: string, method: string): Handler | undefined {
    const {naming} = this.#registry.settings;
    const parts = path.replace(/\/$/, '').split('/').slice(1);
    if (parts[0] === 'api' && parts.length === 1) return onlyRead(method, context => this.#root(context, true));
    if (parts[0] === 'apis' && parts.length === 1) return context => this.#root(context, false);
    if ((parts[0] !== 'api' && parts[0] !== 'apis') || (parts[0] === 'apis' && parts[1] === '')) return undefined;
    const [group, version] = parts[0] === 'api' ? ['', parts[1]] : [parts[1] ?? '', parts[2]];
    if (parts.length > (group ? 3 : 2)) return undefined;
    if (version === undefined) {
      const listed = this.listed.find(({name}) => name === group);
      return listed && (context => plain(context, naming, () => apiGroup(listed)));
    }
    const found = this.groups.find(candidate => naming.group(candidate.group) === group);
    const served = found?.versions.find(candidate => candidate.version === version);
    if (!found || !served) return undefined;
    const list: Handler = context => plain(context, naming, () => apiResourceList(naming, found, served));
    return this.#registry.hasGroup(group) ? onlyRead(method, list) : list;
  }

  #root(context: RequestContext, core: boolean): ApiResponse {
    const {naming} = this.#registry.settings;
    const accepted = acceptedHere(context, 'discovery', rootShapes, naming);
    if (accepted.shape !== 'APIGroupDiscoveryList') {
      return plain(context, naming, () => (core ? apiVersions(this.#serverAddress) : apiGroupList(this.listed)));
    }
    return this.#aggregated(context, accepted, core);
  }

  #aggregated({request}: RequestContext, accepted: Accepted, core: boolean): ApiResponse {
    const peers = core || accepted.withoutPeers ? undefined : this.#peers;
    const key = `${core} ${peers !== undefined} ${accepted.contentType}`;
    let document = this.#documents.get(key);
    if (!core && this.#metrics) (!peers ? this.#metrics.without : document ? this.#metrics.hits : this.#metrics.misses).add();
    if (!document) {
      const object = deepFreeze(this.#aggregatedObject(accepted.shapeVersion, core, peers));
      const bytes = bytesOf(encoded(accepted, () => object, false));
      const body: ResponseBody = {kind: 'object', contentType: accepted.contentType, object: () => object, bytes: () => bytes};
      document = {body, etag: `"${createHash('sha512').update(bytes).digest('hex').toUpperCase()}"`};
      this.#documents.set(key, document);
    }
    const headers = {ETag: document.etag, Vary: 'Accept', 'Cache-Control': 'public'};
    if (header(request, 'if-none-match') === document.etag) return {status: 304, headers, body: {kind: 'empty'}};
    return {status: 200, headers, body: document.body};
  }

  #aggregatedObject(shapeVersion: string, core: boolean, peers: PeerDiscovery | undefined): unknown {
    const {naming} = this.#registry.settings;
    const remoteVersionOf = ({name}: Registration) => this.#aggregation?.discovery.get(name) ?? {isFresh: false};
    const own = aggregated(naming, this.listed, remoteVersionOf, shapeVersion, core);
    if (!peers || peers.groups.length === 0) return own;
    return {...own, items: mergedGroups([own.items as readonly DiscoveredItem[], ...peers.groups])};
  }
}

/** The sources of discovery besides this server's own resources. */
export interface DiscoverySources {
  readonly aggregation?: AggregatedDiscovery | undefined;
  readonly peers?: PeerDiscovery | undefined;
}

const peerMetrics = (meter: Meter) => {
  const counter = (name: string, what: string) =>
    meter.counter({name: `aggregator_discovery_${name}_total`, help: `Counter of number of times ${what}`});
  return {
    hits: counter('peer_aggregated_cache_hits', 'discovery was served from peer-aggregated cache'),
    misses: counter('peer_aggregated_cache_misses', 'discovery was aggregated across all API servers'),
    without: counter('nopeer_requests', 'no-peer (non peer-aggregated) discovery was requested'),
  };
};

const onlyRead = (method: string, handler: Handler): Handler =>
  method === 'get'
    ? handler
    : () => {
        throw methodUnknown();
      };

const bytesOf = (body: ResponseBody): Buffer => (body.kind === 'object' ? body.bytes() : Buffer.alloc(0));

/**
 * Negotiates the form of a discovery document; all have a binary one. Throws 406 if nothing matches, and 415 for a body
 * of an unsupported media type. As upstream, the list of groups also accepts `application` with a wildcard subtype, and
 * ignores the type of a body.
 */
const acceptedHere = (context: RequestContext, kind: string, shapes: ReadonlySet<Shape>, naming: Naming): Accepted => {
  const media = ['application/json', 'application/yaml', naming.protobufMediaType];
  const accept = header(context.request, 'accept');
  if (context.info.path.replace(/\/$/, '') !== '/apis') {
    if (accept && namedClauses(accept, media).length === 0) throw notAcceptable(media);
    const given = mediaTypeOf(context.request);
    if (given && given !== '*/*' && !media.includes(given)) throw unsupportedMedia();
  }
  const accepted = negotiate(accept, kind, shapes, {binary: loadedCodec() ? naming : undefined});
  if (!accepted) throw shapeNotAcceptable(media);
  return accepted;
};

const plain = (context: RequestContext, naming: Naming, make: () => unknown): ApiResponse => ({
  status: 200,
  headers: {},
  body: encoded(acceptedHere(context, 'plain', plainShapes, naming), make, isPretty(context)),
});
