// Which kinds a server has, and by which names users call them.

import {groupOfVersion, kindOnWire, kinds, apiVersionOf, type Kind} from '#src/api/kinds/index.js';
import type {Client} from '#src/client/client.js';

interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind?: {readonly kind: string};
  readonly scope: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
}
interface DiscoveredGroup {
  readonly metadata?: {readonly name?: string};
  readonly versions?: readonly {readonly version: string; readonly resources?: readonly DiscoveredResource[]}[];
}
interface ResourceEntry {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly singularName?: string;
  readonly shortNames?: readonly string[];
}
interface GroupEntry {
  readonly name: string;
  readonly preferredVersion: {readonly groupVersion: string};
}

interface Named {
  readonly kind: Kind;
  readonly group: string;
  readonly names: readonly string[];
}

/** The kinds that a server has, in the order in which it prefers them. */
export class Discovery {
  readonly #client: Client;
  readonly #kinds: readonly Named[];

  private constructor(client: Client, found: readonly Named[]) {
    this.#client = client;
    this.#kinds = found;
  }

  /** Reads the kinds in two requests, or in one for each group from servers that have no aggregated discovery. */
  static async of(client: Client): Promise<Discovery> {
    const accept = `application/json;g=${client.naming.group('apidiscovery')};v=v2;as=APIGroupDiscoveryList,application/json`;
    const roots = await Promise.all(['/api', '/apis'].map(path => client.request('GET', path, {accept})));
    const lists = roots as readonly {
      readonly kind: string;
      readonly items?: readonly DiscoveredGroup[];
      readonly groups?: readonly GroupEntry[];
    }[];
    if (lists.every(({kind}) => kind === 'APIGroupDiscoveryList'))
      return new Discovery(
        client,
        lists.flatMap(({items = []}) => items.flatMap(group => namedOf(client, group))),
      );
    const versions = ['v1', ...(lists[1]?.groups ?? []).map(({preferredVersion}) => preferredVersion.groupVersion)];
    return new Discovery(client, (await Promise.all(versions.map(version => namedIn(client, version)))).flat());
  }

  /** The kind that users call so: plural, singular, kind or short name, with `.group` or `.version.group` after it. */
  kindNamed(text: string): Kind {
    const [name = '', ...rest] = text.toLowerCase().split('.');
    const qualifier = rest.join('.');
    const called = this.#kinds.filter(({names}) => names.includes(name));
    const found =
      called.find(({kind, group}) => !qualifier || group === qualifier || `${kind.version}.${group}` === qualifier) ??
      called.find(({group}) => group.startsWith(qualifier));
    if (!found) throw new Error(`the server doesn't have a resource type "${text}"`);
    return found.kind;
  }

  /** The kind of a reference by `apiVersion` and `kind`; undefined if the server has none. */
  kindOf({apiVersion = '', kind}: {readonly apiVersion?: string; readonly kind: string}): Kind | undefined {
    const known = Object.values(kinds as Readonly<Record<string, Kind>>).find(
      each => each.kind === kind && apiVersionOf(this.#client.naming, each) === apiVersion,
    );
    return known ?? this.#kinds.find(each => each.kind.kind === kind && each.group === groupOfVersion(apiVersion))?.kind;
  }

  /** The kind of a plural name in a group; undefined if the server has none. */
  kindOfResource(plural: string, group: string): Kind | undefined {
    return this.#kinds.find(each => each.kind.plural === plural && each.group === group)?.kind;
  }
}

const namedOf = (client: Client, {metadata, versions = []}: DiscoveredGroup): Named[] => {
  const group = metadata?.name ?? '';
  return versions.flatMap(({version, resources = []}) =>
    resources.flatMap(({resource, responseKind, scope, singularResource, shortNames}) =>
      responseKind
        ? [
            named(client, group, version, {
              name: resource,
              kind: responseKind.kind,
              namespaced: scope === 'Namespaced',
              singularName: singularResource ?? '',
              shortNames: shortNames ?? [],
            }),
          ]
        : [],
    ),
  );
};

const namedIn = async (client: Client, apiVersion: string): Promise<Named[]> => {
  const group = groupOfVersion(apiVersion);
  const path = group ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  try {
    const {resources = []} = (await client.request('GET', path)) as {resources?: readonly ResourceEntry[]};
    const version = apiVersion.slice(group ? group.length + 1 : 0);
    return resources.filter(({name}) => !name.includes('/')).map(entry => named(client, group, version, entry));
  } catch {
    return []; // A group whose extension server is away has no kinds now.
  }
};

const named = (
  {naming}: Client,
  group: string,
  version: string,
  {name, kind, namespaced, singularName = '', shortNames = []}: ResourceEntry,
): Named => ({
  kind: kindOnWire(naming, {group, version, kind, plural: name, namespaced}),
  group,
  names: [name, singularName, kind.toLowerCase(), ...shortNames],
});
