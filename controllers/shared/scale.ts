// Reads and writes the `scale` subresource of objects of any kind, whose resource is found by discovery. Used by the
// autoscaler and by disruption budgets.

import {discover, handleOf, resourceText, type FoundResource} from '#controllers/shared/discovery.js';
import {groupOfVersion, type Kind} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import type {Attempt} from '#src/runtime/controller.js';

/** The `scale` subresource of any kind. */
export interface Scale extends KubeObject {
  readonly spec?: {readonly replicas?: number};
  readonly status?: {readonly replicas?: number; readonly selector?: string};
}

/** A reference to an object by kind. */
export interface Scaled {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** The server has no resource of a kind. The message names the requested version, `inGroup` the group. */
export class NoSuchKind extends Error {
  override readonly name = 'NoSuchKind';
  readonly inGroup: string;

  constructor({apiVersion, kind}: Pick<Scaled, 'apiVersion' | 'kind'>) {
    const none = `no matches for kind ${JSON.stringify(kind)} in`;
    super(`${none} version ${JSON.stringify(apiVersion)}`);
    this.inGroup = `${none} group ${JSON.stringify(groupOfVersion(apiVersion))}`;
  }
}

/** How long discovery is cached; an unknown kind triggers it at once, but at most once per second. */
const discoveryMaxAgeMs = 30_000;
const minDiscoveryPeriodMs = 1_000;

/** The attempts to write a scale on conflicts, and the wait in between. */
const maxAttempts = 5;
const retryMs = 10;

/** Reads and writes scales of objects of any kind. */
export class Scales {
  readonly #client: Client;
  readonly #clock: Clock;
  #known: readonly FoundResource[] = [];
  #discoveredAt = Number.NEGATIVE_INFINITY;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Returns the resources of a kind: the requested version first, then in order of preference. Rejects with a
   * `NoSuchKind` if there is none.
   */
  async resourcesOf({apiVersion, kind}: Pick<Scaled, 'apiVersion' | 'kind'>): Promise<readonly FoundResource[]> {
    const find = () => this.#known.filter(found => found.group === groupOfVersion(apiVersion) && found.kind === kind);
    const age = this.#clock.monotonic() - this.#discoveredAt;
    if (age > discoveryMaxAgeMs || (find().length === 0 && age > minDiscoveryPeriodMs)) await this.#discover();
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
    const found = find().sort((a, b) => Number(b.version === version) - Number(a.version === version));
    if (found.length === 0) throw new NoSuchKind({apiVersion, kind});
    return found;
  }

  /** Reads the scale of an object; undefined if the object does not exist. Rejects for a kind that cannot be scaled. */
  async get(namespace: string, of: Scaled): Promise<Scale | undefined> {
    const [found] = await this.resourcesOf(of);
    try {
      return await this.read(namespace, found!, of.name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (await this.#canScale(found!)) return undefined;
      throw new Error(`${resourceText(found!)} does not implement the scale subresource`, {cause: error});
    }
  }

  read(namespace: string, resource: FoundResource, name: string): Promise<Scale> {
    return this.#client.resource(this.#handleOf(resource)).get(name, {namespace, subresource: 'scale'}) as Promise<Scale>;
  }

  /** Sets the number of replicas. Reads the scale again and retries on a conflict; rejects after too many. */
  async write(resource: FoundResource, scale: Scale, replicas: number, {pause}: Pick<Attempt, 'pause'>): Promise<void> {
    const {name = '', namespace = ''} = scale.metadata ?? {};
    for (let latest = scale, attempt = 1; ; attempt++) {
      try {
        const next: Scale = {...latest, spec: {...latest.spec, replicas}};
        await this.#client.resource(this.#handleOf(resource)).update(next, {subresource: 'scale'});
        return;
      } catch (error) {
        if (!isConflict(error) || attempt >= maxAttempts) throw error;
      }
      await pause(retryMs);
      latest = await this.read(namespace, resource, name);
    }
  }

  #handleOf(found: FoundResource): Kind {
    return handleOf(this.#client.naming, found);
  }

  async #discover(): Promise<void> {
    using _ = this.#clock.hold();
    this.#known = (await discover(this.#client)).served;
    this.#discoveredAt = this.#clock.monotonic();
  }

  async #canScale({group, version, resource}: FoundResource): Promise<boolean> {
    const path = group ? `/apis/${group}/${version}` : `/api/${version}`;
    const {resources = []} = (await this.#client.request('GET', path)) as {readonly resources?: readonly {readonly name: string}[]};
    return resources.some(({name}) => name === `${resource}/scale`);
  }
}
