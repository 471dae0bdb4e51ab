import {groupResource, kinds} from '#src/api/kinds/index.js';
import {naming, type NamingName} from '#src/api/naming.js';
import {flagSection} from '#src/options/flag.js';
import type {Given} from '#src/options/flag.js';

const {protobufMediaType} = naming('plat');

const isServer = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text);

const hasCredentials = (text: string): boolean => isServer(text) && Boolean(new URL(text).username || new URL(text).password);
/** Without the value, which would be logged. */
const noCredentials = "must not hold a user or a password: the store's servers know this one by --kvstore-certfile";

const validateServers = (servers: readonly string[]): string | undefined => {
  if (servers.some(hasCredentials)) return noCredentials;
  const invalid = servers.find(server => !isServer(server));
  return invalid === undefined ? undefined : `"${invalid}" must be formatted as scheme://ip:port`;
};

const validateServerOverrides = (overrides: readonly string[]): string | undefined => {
  if (overrides.some(override => override.split(/[#;]/).some(hasCredentials))) return noCredentials;
  for (const override of overrides) {
    const [resource = '', servers = '', ...more] = override.split('#');
    if (more.length > 0 || !/^[^/]*\/[^/]+$/.test(resource) || !servers.split(';').every(isServer))
      return `"${override}" must be of format: group/resource#servers, where servers are URLs, semicolon separated`;
  }
  return undefined;
};

const validateCacheSizes = (sizes: readonly string[]): string | undefined => {
  const invalid = sizes.find(size => !/^[^#]+#\d+$/.test(size));
  return invalid === undefined ? undefined : `"${invalid}" must be formatted as resource[.group]#size`;
};

const second = 1000;
/** The longest lease that etcd grants. */
const maxLeaseMs = 9_000_000_000 * second;

/** Flags of the storage engine, the watch cache and etcd connections. */
export const storage = flagSection('Storage', {
  'storage-backend': {
    type: 'string',
    help: 'Where objects are kept: "embedded" in the data directory, "memory" until the process ends, "etcd3" in the servers of --kvstore-servers.',
    default: 'embedded',
    shownDefault: 'kvstore v3 (etcd3) with --kvstore-servers, embedded without',
    oneOf: ['embedded', 'memory', 'etcd3'],
  },
  'data-dir': {
    type: 'path',
    help: 'The directory of the embedded store.',
    shownDefault: 'store beside the certificate directory',
  },
  'storage-media-type': {
    type: 'string',
    help: `The form of objects in the store's servers: application/json, application/yaml or ${protobufMediaType}. The embedded store holds JSON, as do some resources.`,
    default: protobufMediaType,
    oneOf: ['application/json', 'application/yaml', protobufMediaType],
  },
  'storage-initialization-timeout': {
    type: 'duration',
    help: 'The longest wait for the storage before the server is declared ready.',
    default: '1m0s',
    range: {above: '0'},
  },
  'kvstore-servers': {
    type: 'strings',
    help: "The store's servers, as scheme://ip:port, comma separated. Selects the backend etcd3.",
    check: validateServers,
  },
  'kvstore-servers-overrides': {
    type: 'strings',
    help: 'Other servers for single built-in resources, each as group/resource#servers with servers separated by semicolons. Their resource versions are those of their servers.',
    check: validateServerOverrides,
    requires: ['kvstore-servers'],
  },
  'kvstore-cafile': {type: 'path', help: "The CA file for connections to the store's servers."},
  'kvstore-certfile': {
    type: 'path',
    help: "The client certificate for connections to the store's servers.",
    requires: ['kvstore-keyfile'],
  },
  'kvstore-keyfile': {
    type: 'path',
    help: "The client key for connections to the store's servers.",
    requires: ['kvstore-certfile'],
  },
  'kvstore-prefix': {type: 'string', help: 'Prefix of all keys in the store.', default: '/registry'},
  'kvstore-compaction-interval': {
    type: 'duration',
    help: 'Interval of compaction requests to the store. 0 disables compaction requests.',
    default: '5m0s',
    range: {min: '0'},
  },
  'embedded-history-bytes': {
    type: 'int',
    help: 'The bytes of superseded and deleted records that the embedded store keeps for watches and reads of earlier versions. Beyond, the oldest are compacted before their interval ends. 0 disables the bound.',
    default: String(256 << 20),
    range: {min: 0},
  },
  'kvstore-count-metric-poll-period': {
    type: 'duration',
    help: 'Interval at which objects are counted by type for the metrics. 0 disables counting.',
    default: '1m0s',
    range: {min: '0'},
  },
  'kvstore-db-metric-poll-interval': {
    type: 'duration',
    help: 'Interval at which the size of the store is read for the metrics. 0 disables it.',
    default: '30s',
    range: {min: '0'},
  },
  'kvstore-healthcheck-timeout': {
    type: 'duration',
    help: 'How long a health check may wait for the store.',
    default: '2s',
    range: {above: '0'},
  },
  'kvstore-readycheck-timeout': {
    type: 'duration',
    help: 'How long a readiness check may wait for the store.',
    default: '2s',
    range: {above: '0'},
  },
  'encryption-provider-config': {
    type: 'path',
    help: 'File with the configuration of encryption at rest.',
  },
  'encryption-provider-config-automatic-reload': {
    type: 'bool',
    help: 'Read that file again when it changes. Health endpoints then cannot distinguish key-management plugins.',
    requires: ['encryption-provider-config'],
  },
  'watch-cache': {
    type: 'bool',
    help: 'Serve lists and watches with the semantics of the watch cache: a list at any resource version is returned whole, whatever its limit.',
    default: 'true',
  },
  'watch-cache-sizes': {
    type: 'strings',
    help: 'Cache sizes of single built-in resources, each as resource[.group]#size. Only 0 has an effect: it disables the cache of that resource.',
    check: validateCacheSizes,
  },
  'event-ttl': {
    type: 'duration',
    help: 'How long events are retained, from 1s to 2500000h. 0 retains them without limit.',
    default: '1h0m0s',
    check: (ms: number) => (ms === 0 || (ms >= second && ms <= maxLeaseMs) ? undefined : 'must be 0 or from 1s to 2500000h'),
  },
  'lease-reuse-duration-seconds': {
    type: 'int',
    help: 'The time, in seconds, for which a lease of the store is reused. Too small a value can slow down the store.',
    default: '60',
    range: {min: 1},
  },
  'delete-collection-workers': {
    type: 'int',
    help: 'Number of workers that delete a collection; more workers empty a namespace faster.',
    default: '1',
    range: {min: 1},
  },
  'enable-garbage-collector': {
    type: 'bool',
    help: "Serve the generic garbage collector. Must be the same as the controller manager's flag of this name.",
    default: 'true',
  },
});

/** Validates that etcd servers are given for etcd3, and only for etcd3. */
export const validateStorageBackend = ({storageBackend}: {readonly storageBackend: string}, given: Given): string | undefined => {
  if (storageBackend === 'etcd3' && !given.has('kvstore-servers')) return '--storage-backend=etcd3 requires --kvstore-servers';
  if (given.has('storage-backend') && storageBackend !== 'etcd3' && given.has('kvstore-servers'))
    return `--kvstore-servers cannot be used with --storage-backend=${storageBackend}`;
  return undefined;
};

/** Returns an error if a cache size is set for a resource that is not built in. */
export const validateCachedResources = (options: {
  readonly naming: NamingName;
  readonly watchCacheSizes: readonly string[];
}): string | undefined => {
  if (options.watchCacheSizes.length === 0) return undefined;
  const known = new Set(Object.values(kinds).map(kind => groupResource(naming(options.naming), kind)));
  const unknown = options.watchCacheSizes.find(entry => !known.has(entry.split('#')[0]!));
  return unknown && `--watch-cache-sizes ${JSON.stringify(unknown)} names no built-in resource`;
};
