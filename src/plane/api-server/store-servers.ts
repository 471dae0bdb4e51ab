import {posix} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {withEncrypted} from '#src/storage/encryption/encrypted-store.js';
import type {StoreServers} from '#src/storage/etcd/open.js';
import type {Dial} from '#src/transport/dial.js';

/** The prefix of all keys: a path without a trailing slash. */
export const storePrefix = ({kvstorePrefix}: Pick<ApiserverOptions, 'kvstorePrefix'>): string =>
  posix.join('/', kvstorePrefix).replace(/\/$/, '');

export interface StoreServersParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  /** The oldest release whose servers must be able to read what is stored. */
  readonly minCompatibility: string;
  gate(name: string): boolean;
  /** Opens connections to the servers; by default directly. */
  readonly dial?: Dial | undefined;
}

/** The etcd servers of the flags, if the store is in etcd. */
export const storeServersOf = ({options, naming, gate, minCompatibility, dial}: StoreServersParts): StoreServers | undefined => {
  const {storageBackend, storageMediaType, kvstoreServers, kvstoreServersOverrides: overrides, watchCache} = options;
  const {kvstoreCafile, kvstoreCertfile, kvstoreKeyfile} = options;
  if (storageBackend !== 'etcd3') return undefined;
  return {
    urls: kvstoreServers,
    tls: {caFile: kvstoreCafile, certFile: kvstoreCertfile, keyFile: kvstoreKeyfile},
    prefix: storePrefix(options),
    cached: watchCache,
    dial,
    ...(overrides.length > 0 && {
      async overrides() {
        const {serverOverrides} = await import('#src/apiserver/registry/server-overrides.js');
        return serverOverrides(overrides, {servers: kvstoreServers, prefix: storePrefix(options), naming});
      },
    }),
    encoding: async () => {
      const {recordEncoding} = await import('#src/apiserver/registry/record-encoding.js');
      const isBinary = storageMediaType.startsWith('application/vnd.');
      const encoding = await recordEncoding({
        naming,
        mediaType: isBinary ? naming.protobufMediaType : storageMediaType,
        cbor: gate('CBORServingAndStorage'),
        minCompatibility,
      });
      return options.encryptionProviderConfig ? withEncrypted(encoding, naming.encryptedPrefix) : encoding;
    },
  };
};
