import {groupOfVersion, kindOnWire, kinds, apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';

/** The used part of an `APIResourceList` entry. */
interface ApiResources {
  readonly resources?: readonly {readonly name: string; readonly kind: string; readonly namespaced: boolean}[];
}

/**
 * Resolves `apiVersion` and `kind` to kinds: declared ones, built-in ones, and others by discovery, which is requested
 * once per group version.
 */
export class KindResolver {
  readonly #client: Client;
  readonly #known = new Map<string, Kind>();
  readonly #discovered = new Map<string, Promise<void>>();

  constructor(client: Client, declared: readonly Kind[]) {
    this.#client = client;
    for (const kind of [...Object.values(kinds), ...declared] as readonly Kind[])
      this.#known.set(`${apiVersionOf(client.naming, kind)} ${kind.kind}`, kind);
  }

  /** Rejects with an error that names the object if it has no kind, or a kind that the server does not serve. */
  async kindOf<T extends KubeObject>(object: {readonly apiVersion?: string; readonly kind?: string}): Promise<Kind<T>> {
    const {apiVersion, kind} = object;
    if (!apiVersion || !kind) throw new TypeError('the object has no apiVersion and kind');
    const id = `${apiVersion} ${kind}`;
    if (!this.#known.has(id)) await this.#discover(apiVersion);
    const found = this.#known.get(id);
    if (!found) throw new Error(`no matches for kind "${kind}" in version "${apiVersion}"`);
    return found as Kind<T>;
  }

  #discover(apiVersion: string): Promise<void> {
    let discovered = this.#discovered.get(apiVersion);
    if (!discovered) {
      discovered = this.#readResources(apiVersion);
      this.#discovered.set(apiVersion, discovered);
      // Not cached: the kind may be defined later.
      const forget = () => void this.#discovered.delete(apiVersion);
      discovered.then(forget, forget);
    }
    return discovered;
  }

  async #readResources(apiVersion: string): Promise<void> {
    const group = groupOfVersion(apiVersion);
    const version = apiVersion.slice(group ? group.length + 1 : 0);
    const {resources = []} = (await this.#client.request('GET', group ? `/apis/${apiVersion}` : `/api/${version}`)) as ApiResources;
    for (const {name: plural, kind, namespaced} of resources)
      if (!plural.includes('/'))
        this.#known.set(`${apiVersion} ${kind}`, kindOnWire(this.#client.naming, {group, version, kind, plural, namespaced}));
  }
}
