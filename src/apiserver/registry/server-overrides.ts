import type {Naming} from '#src/api/naming.js';
import {resources} from '#src/resources/builtin/index.js';
import {storagePath} from '#src/resources/storage-path.js';
import {StoreUnusable} from '#src/storage/errors.js';
import type {ServerOverride} from '#src/storage/etcd/open.js';

/**
 * What is stored without being a resource, under upstream's names for it: the addresses of servers, and those at which
 * they take the requests of others.
 */
const serverRecords = {apiServerIPInfo: 'masterleases', apiServerPeerIPInfo: 'peerserverleases'};

/**
 * Returns the paths below the prefix of all keys that hold the resources of `group/resource`, or of a whole group for
 * `group/*`.
 */
const pathsOf = (resource: string, naming: Naming): readonly string[] => {
  const [group = '', name = ''] = resource.split('/');
  const found = resources.filter(
    ({kind, review, virtual}) => !review && !virtual && naming.group(kind.group) === group && (name === '*' || kind.plural === name),
  );
  return [
    ...found.map(definition => storagePath(definition, naming)),
    // The allocated addresses and ports are stored where the services are.
    ...(found.some(({kind}) => kind.plural === 'services') ? ['ranges'] : []),
    ...Object.entries(serverRecords).flatMap(([record, path]) => (group === '' && (name === '*' || name === record) ? [path] : [])),
  ];
};

export interface OverrideSettings {
  /** The servers of all other resources. */
  readonly servers: readonly string[];
  /** The prefix of all keys. */
  readonly prefix: string;
  readonly naming: Naming;
}

const identity = (servers: readonly string[]): string => [...servers].sort().join(';');

/**
 * Returns the servers of `--kvstore-servers-overrides` with the keys that they keep, one entry for each set of servers,
 * in the order given. As upstream, a resource overrides its group, and a later entry an earlier one. Throws
 * `StoreUnusable` for an entry that names nothing that is stored.
 */
export const serverOverrides = (overrides: readonly string[], {servers, prefix, naming}: OverrideSettings): readonly ServerOverride[] => {
  const byPath = new Map<string, readonly string[]>();
  const entries = overrides.map(text => [text, ...text.split('#')] as const);
  const isGroup = ([, resource = '']: (typeof entries)[number]): boolean => resource.endsWith('/*');
  for (const [text, resource = '', urls = ''] of [...entries.filter(isGroup), ...entries.filter(entry => !isGroup(entry))]) {
    const paths = pathsOf(resource, naming);
    if (paths.length === 0)
      throw new StoreUnusable(`--kvstore-servers-overrides ${JSON.stringify(text)} names no built-in resource that is stored`);
    for (const path of paths) byPath.set(path, urls.split(';'));
  }
  const bySet = new Map<string, {urls: readonly string[]; prefixes: string[]}>();
  for (const [, , urls = ''] of entries) bySet.set(identity(urls.split(';')), {urls: urls.split(';'), prefixes: []});
  for (const [path, urls] of byPath) bySet.get(identity(urls))!.prefixes.push(`${prefix}/${path}/`);
  return [...bySet].filter(([set, {prefixes}]) => set !== identity(servers) && prefixes.length > 0).map(([, override]) => override);
};
