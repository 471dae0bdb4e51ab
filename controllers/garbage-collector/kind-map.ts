import {groupVersionOf, handleOf, resourceText, type FoundResource} from '#controllers/shared/discovery.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import {identityText, type Identity} from './identity.js';

/** No resource is known for a kind. It may be served later, so this is retried. */
export class UnknownKind extends Error {
  override readonly name = 'UnknownKind';

  readonly of: Pick<Identity, 'apiVersion' | 'kind'>;

  constructor({apiVersion, kind}: Pick<Identity, 'apiVersion' | 'kind'>) {
    super(`unable to get REST mapping for ${apiVersion}/${kind}.`);
    this.of = {apiVersion, kind};
  }
}

/** A cluster-scoped object refers to a namespaced owner. A retry is useless. */
export class OwnerNeedsNamespace extends Error {
  override readonly name = 'OwnerNeedsNamespace';

  constructor(identity: Identity) {
    super(`cluster-scoped objects cannot refer to namespaced owners: ${identityText(identity)}`);
  }
}

/** The resource of a kind. */
export interface MappedResource {
  readonly namespaced: boolean;
  /** Requests metadata only. */
  readonly objects: ResourceClient<KubeObject>;
}

/** Maps kinds to resources, by the last discovery. */
export class KindMap {
  readonly #client: Client;
  #resources = new Map<string, MappedResource>();
  #definitions: ReadonlySet<string> = new Set();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Replaces the map with what is served now, in every version. */
  reset(served: readonly FoundResource[]): void {
    const resources = new Map<string, MappedResource>();
    for (const found of served) {
      const key = `${groupVersionOf(found)} ${found.kind}`;
      // If several resources have the same kind, the first one is the kind's own.
      if (!resources.has(key))
        resources.set(key, {namespaced: found.namespaced, objects: this.#client.metadata(handleOf(this.#client.naming, found))});
    }
    this.#resources = resources;
    this.#definitions = new Set(served.flatMap(found => [resourceText(found), `${found.version}.${found.group}`]));
  }

  /** Whether the resources of a definition are served: of a CustomResourceDefinition, or of an APIService. */
  isDefinedBy(definition: string): boolean {
    return this.#definitions.has(definition);
  }

  has({apiVersion, kind}: Pick<Identity, 'apiVersion' | 'kind'>): boolean {
    return this.#resources.has(`${apiVersion} ${kind}`);
  }

  /** Throws `UnknownKind`. */
  of(identity: Pick<Identity, 'apiVersion' | 'kind'>): MappedResource {
    const resource = this.#resources.get(`${identity.apiVersion} ${identity.kind}`);
    if (!resource) throw new UnknownKind(identity);
    return resource;
  }
}
