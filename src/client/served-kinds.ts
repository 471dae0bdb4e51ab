import {groupOfVersion, kindOnWire, type Kind} from '#src/api/kinds/index.js';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import {isNotFound} from '#src/api/status.js';
import type {Client} from './client.js';

interface ResourceList {
  readonly resources?: readonly {readonly name: string; readonly kind: string; readonly namespaced: boolean}[];
}

/** What an object says of its kind. */
interface Labelled {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Finds the resource of an object by the server's discovery. */
export class ServedKinds {
  readonly #client: Client;
  readonly #lists = new Map<string, Promise<ResourceList>>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the object's kind. Throws an error of one line when the server does not serve it. */
  async of(object: Labelled): Promise<Kind> {
    const found = await this.find(object);
    if (found) return found;
    const {apiVersion, kind} = object;
    throw new Error(`the server knows no ${kind} in ${apiVersion}${this.#hint(groupOfVersion(apiVersion))}`);
  }

  /** Returns the object's kind; undefined when the server does not serve it. */
  async find({apiVersion, kind}: Labelled): Promise<Kind | undefined> {
    const group = groupOfVersion(apiVersion);
    const version = apiVersion.slice(apiVersion.indexOf('/') + 1);
    const {resources = []} = await this.#list(apiVersion);
    const found = resources.find(resource => resource.kind === kind && !resource.name.includes('/'));
    return found && kindOnWire(this.#client.naming, {group, version, kind, plural: found.name, namespaced: found.namespaced});
  }

  #list(apiVersion: string): Promise<ResourceList> {
    const known = this.#lists.get(apiVersion);
    if (known) return known;
    const requested = this.#client
      .request('GET', apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`)
      .catch((error: unknown) => {
        if (isNotFound(error)) return {};
        throw error;
      }) as Promise<ResourceList>;
    this.#lists.set(apiVersion, requested);
    return requested;
  }

  /** Suggests the other naming for manifests that use its groups. */
  #hint(group: string): string {
    const {naming} = this.#client;
    if (naming.groupToken(group) !== undefined) return '';
    const other = others(naming).find(each => each.groupToken(group) !== undefined);
    return other ? ` (it speaks the ${naming.name} naming; ${group} is of the ${other.name} naming)` : '';
  }
}

const others = ({name}: Naming): Naming[] => (['plat', 'kubernetes'] as const).filter(each => each !== name).map(namingOf);
