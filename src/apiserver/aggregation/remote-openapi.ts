// Caches the OpenAPI documents of aggregated servers, versions 2 and 3. Refreshes are triggered from outside; requests
// of clients never wait for one. Documents are read across turns of the event loop.

import type {UserInfo} from '#src/api/user.js';
import {parseInSteps} from '#src/base/json/json-steps.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import type {Log} from '#src/base/log.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {isPlainObject, ownField, type PlainObject} from '#src/schema/decode/plain.js';
import type {PackedDocument} from '#src/schema/openapi/packing.js';
import type {DocumentPart} from '#src/schema/openapi/aggregated.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {requestRemote, type RemoteResponse} from './remote-request.js';
import {rootOf, type Registration, type Registrations} from './registrations.js';

export interface RemoteOpenApiParts {
  readonly registrations: Registrations;
  readonly backends: Connections;
  readonly resolve: ServiceResolver;
  readonly log: Log;
}

/** The user of requests for documents. */
const reader: UserInfo = {name: 'system:aggregator', groups: []};
const timeoutMs = 60_000;

const hashOf = async (bytes: Buffer): Promise<string> => (await import('#src/schema/openapi/packing.js')).hashOf(bytes);

/** The size limit of an index of documents, which takes one turn of the event loop. */
const maxIndexBytes = 1 << 20;

/** A document with the hash of what it was read from. */
interface Hashed {
  readonly hash: string;
}

/** A server's version 3 documents: its index, or a document converted from version 2. */
export type VersionThree = Hashed & ({readonly listed: PlainObject} | {readonly made: PackedDocument});

interface VersionTwo extends Hashed {
  readonly etag: string | undefined;
  readonly part: DocumentPart;
  /** The document without its paths and definitions. */
  readonly frame: PlainObject;
}

/** Caches the OpenAPI documents of the aggregated servers. The last one is kept while a server is not available. */
export class RemoteOpenApi {
  readonly #parts: RemoteOpenApiParts;
  readonly #pieces: Yielder;
  readonly #two = new Map<string, VersionTwo>();
  readonly #three = new Map<string, VersionThree>();
  readonly #listeners = new Set<() => void>();

  constructor(parts: RemoteOpenApiParts) {
    this.#parts = parts;
    this.#pieces = new Yielder(parts.backends.clock);
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  /** The version 2 documents by registration, of those that have one. */
  get versionTwo(): readonly (readonly [registration: Registration, part: DocumentPart])[] {
    return this.#known(this.#two).map(([registration, {part}]) => [registration, part]);
  }

  get versionThree(): readonly (readonly [registration: Registration, document: VersionThree])[] {
    return this.#known(this.#three);
  }

  /** Requests the version 2 document again. Never rejects. */
  refreshTwo(name: string): Promise<void> {
    return this.#refresh(name, this.#two, async registration => {
      const known = this.#two.get(name);
      return (await this.#requestTwo(registration, known)) ?? known;
    });
  }

  /** Requests the index of the version 3 documents again. Never rejects. */
  refreshThree(name: string): Promise<void> {
    return this.#refresh(name, this.#three, async registration => {
      const response = await this.#request(registration, '/openapi/v3', {maxBytes: maxIndexBytes});
      if (response.status === 404) return this.#madeThree(registration);
      if (response.status !== 200) throw new Error('Error, could not get list of group versions for APIService');
      const index: unknown = JSON.parse(response.body.toString());
      const paths = isPlainObject(index) ? ownField(index, 'paths') : undefined;
      return {listed: isPlainObject(paths) ? paths : {}, hash: await hashOf(response.body)};
    });
  }

  /** In the order of priority. */
  #known<T>(documents: ReadonlyMap<string, T>): (readonly [Registration, T])[] {
    const {registrations} = this.#parts;
    const found = [...documents].flatMap(([name, document]) => {
      const registration = registrations.get(name);
      return registration ? [[registration, document] as const] : [];
    });
    return found.sort(
      ([a], [b]) => b.groupPriority - a.groupPriority || b.versionPriority - a.versionPriority || (a.name < b.name ? -1 : 1),
    );
  }

  async #refresh<T extends Hashed>(
    name: string,
    documents: Map<string, T>,
    load: (registration: Registration) => Promise<T | undefined>,
  ): Promise<void> {
    const {registrations, log} = this.#parts;
    const registration = registrations.get(name);
    const before = documents.get(name);
    if (!registration?.remote) documents.delete(name);
    else {
      try {
        const document = await load(registration);
        if (document) documents.set(name, document);
        else documents.delete(name);
      } catch (error) {
        log.v(1).info({apiservice: name, err: error}, 'the OpenAPI documents of a server behind this one could not be read');
      }
    }
    if (documents.get(name)?.hash !== before?.hash) for (const listener of this.#listeners) listener();
  }

  async #request(
    {remote}: Registration,
    path: string,
    {headers = {}, ...limits}: {readonly headers?: Readonly<Record<string, string>>; readonly maxBytes?: number} = {},
  ): Promise<RemoteResponse> {
    const {backends, resolve} = this.#parts;
    if (!remote?.available) throw new Error('service unavailable');
    const {service, tls} = remote;
    if (tls instanceof Error) throw tls;
    return requestRemote(backends, {
      at: await resolve(service),
      tls,
      path,
      user: reader,
      headers: {accept: 'application/json', ...headers},
      timeoutMs,
      ...limits,
    });
  }

  /** Undefined if it has not changed or there is none. */
  async #requestTwo(registration: Registration, known: VersionTwo | undefined): Promise<VersionTwo | undefined> {
    const response = await this.#request(registration, '/openapi/v2', known?.etag ? {headers: {'if-none-match': known.etag}} : {});
    if (response.status === 304 || response.status === 404) return undefined;
    if (response.status !== 200) throw new Error(`failed to retrieve openAPI spec, http error: ${response.status}`);
    const document = await this.#inPieces(parseInSteps(response.body));
    if (!isPlainObject(document)) throw new Error('the OpenAPI document is no object');
    const {pathsUnder} = await import('#src/schema/openapi/aggregated.js');
    const {paths: _, definitions: __, parameters: ___, ...frame} = document;
    const part = await this.#inPieces(pathsUnder(document, `${rootOf(registration)}/`));
    return {etag: response.header('etag'), part, frame, hash: await hashOf(response.body)};
  }

  async #madeThree(registration: Registration): Promise<VersionThree | undefined> {
    const two = await this.#requestTwo(registration, undefined);
    if (!two) return undefined;
    const [{convertToV3}, {Packing}] = await Promise.all([
      import('#src/schema/openapi/aggregated.js'),
      import('#src/schema/openapi/packing.js'),
    ]);
    const document = await this.#inPieces(convertToV3(two.frame, two.part));
    const made = await Packing.whole(await this.#inPieces(encodedInSteps(document)));
    return {made, hash: made.hash};
  }

  #inPieces<T>(work: Steps<T>): Promise<T> {
    return runStepsYielding(work, this.#pieces);
  }
}
