import {hostname} from 'node:os';
import {systemFiles} from '#src/base/files/files.js';
import {encrypt, type Encryption} from '#src/apiserver/encryption/encryption.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Versions} from '#src/options/versions.js';
import type {Store} from '#src/storage/store.js';
import {storePrefix, storeServersOf} from './store-servers.js';

/** What the encryption needs of a server. */
export interface EncryptionParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  gate(name: string): boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Meter;
  readonly versions: Versions;
  readonly store: Store;
}

/**
 * Returns the parts of a server with the store encrypted as `--encryption-provider-config` says, and the health checks
 * of that.
 */
export const withEncryption = async <P extends EncryptionParts>(
  parts: P,
  signal: AbortSignal,
): Promise<{readonly parts: P; readonly checks: Encryption['checks']}> => {
  const {options, naming, gate, clock, log, metrics: meter, versions} = parts;
  const {encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: reloads} = options;
  const servers = storeServersOf({options, naming, gate, minCompatibility: versions.minCompatibility});
  const encryption = await encrypt(
    parts.store,
    {
      path,
      reloads,
      prefix: storePrefix(options),
      naming,
      gate,
      files: systemFiles,
      clock,
      log,
      meter,
      serverId: serverIdentity(hostname()),
      encoding: servers && (() => servers.encoding()),
    },
    signal,
  );
  return encryption ? {parts: {...parts, store: encryption.store}, checks: encryption.checks} : {parts, checks: []};
};
