import {groupVersionOf, handleOf, resourceText, type FoundResource} from '#controllers/shared/discovery.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import {identityText, type Identity} from './identity.js';

/** No resource is known for that kind. It may come to be served later, so this is to be tried again. */
export class UnknownKind extends Error {
  override readonly name = 'UnknownKind';

  readonly of: Pick<Identity, 'apiVersion' | 'kind'>;

  constructor({apiVersion, kind}: Pick<Identity, 'apiVersion' | 'kind'>) {
    super(`unable to get REST mapping for ${apiVersion}/${kind}.`);
    this.of = {apiVersion, kind};
  }
}

/** Something without a namespace names an owner that has one. No other try will change that. */
export class OwnerNeedsNamespace extends Error {
  override readonly name = 'OwnerNeedsNamespace';

  constructor(identity: Identity) {
    super(`cluster-scoped objects cannot refer to namespaced owners: ${identityText(identity)}`);
  }
}

/** The way to the objects of a kind. */
export interface MappedResource {
  readonly namespaced: boolean;
  /** Answers with metadata alone. */
  readonly objects: ResourceClient<KubeObject>;
}

/** Which resource serves a kind in a version, as discovery told last. */
export class KindMap {
  readonly #client: Client;
  #resources = new Map<string, MappedResource>();
  #definitions: ReadonlySet<string> = new Set();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Forgets what was known and learns what is served now, in every version. */
  reset(served: readonly FoundResource[]): void {
    const resources = new Map<string, MappedResource>();
    for (const found of served) {
      const key = `${groupVersionOf(found)} ${found.kind}`;
      // Where several resources show one kind, the first is the kind's own.
      if (!resources.has(key)) resources.set(key, {namespaced: found.namespaced, objects: this.#client.metadata(handleOf(this.#client.naming, found))});
    }
    this.#resources = resources;
    this.#definitions = new Set(served.flatMap(found => [resourceText(found), `${found.version}.${found.group}`]));
  }

  /** Whether something is served by the definition of that name: of a custom resource, or of a version of a group. */
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
