// Encryption of the store by resource, as `--encryption-provider-config` says: reads the file, makes the ciphers, keeps
// the key management services in use fresh, and, if asked to, replaces all of it when the file changes. The last valid
// configuration stays in use.

import {sleep, type Clock} from '#src/base/clock.js';
import {followFiles, contentOf, type Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {Naming} from '#src/api/naming.js';
import {reloadMetrics, type ReloadMetrics} from '#src/apiserver/configuration/reload-metrics.js';
import type {Check} from '#src/observe/health.js';
import {labelHash} from '#src/observe/label-hash.js';
import {kmsMetrics} from './kms-metrics.js';
import type {KmsObserver} from '#src/storage/encryption/kms-observer.js';
import type {TransformationObserver} from '#src/storage/encryption/cipher.js';
import {encryptedStore} from '#src/storage/encryption/encrypted-store.js';
import {KeyExists} from '#src/storage/errors.js';
import {plainEncoding, type RecordEncoding} from '#src/storage/etcd/encoding.js';
import type {Store} from '#src/storage/store.js';
import {ciphersOf, type ResourceCiphers} from './ciphers.js';
import {readEncryptionConfiguration} from './configuration.js';
import {resourceByKey} from './stored-resources.js';

export interface EncryptionSettings {
  /** The file; nothing is encrypted without one. */
  readonly path: string;
  /** Whether the file is read again when it changes. */
  readonly reloads: boolean;
  /** The first part of all keys of resources. */
  readonly prefix: string;
  readonly naming: Naming;
  gate(name: string): boolean;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  /** The identity of this server, of which metrics show a hash. */
  readonly serverId: string;
  /** Returns how the store encodes records, if it does. */
  readonly encoding?: (() => Promise<RecordEncoding>) | undefined;
}

/** A store whose values are encrypted. */
export interface Encryption {
  readonly store: Store;
  /** The health checks of the key management services. */
  readonly checks: readonly {readonly name: string; readonly check: Check}[];
}

/** How often key management services are asked for their state, while they work and while they do not. */
const refreshMs = 60_000;
const retryMs = 3000;
/** How long the services of a new configuration may take until they work, and how long those of an old one are kept. */
const graceMs = 10_000;

/**
 * Returns the store with its values encrypted. Undefined if no configuration is given and the store was never written
 * with one. Rejects with an error of one line for an invalid file; a key management service that does not work yet only
 * fails health checks.
 */
export const encrypt = async (store: Store, settings: EncryptionSettings, signal: AbortSignal): Promise<Encryption | undefined> => {
  const {path, naming, prefix} = settings;
  const mark = `${prefix}-encryption`;
  if (!path) {
    // Stores that encode records refuse encrypted ones by themselves.
    if (settings.encoding || !(await store.get(mark))) return undefined;
    const parts = {prefix: naming.encryptedPrefix, cipherOf: () => undefined, encoding: plainEncoding};
    return {store: encryptedStore(store, parts, signal), checks: []};
  }
  const configuration = new Configuration(settings);
  await configuration.open();
  signal.addEventListener('abort', () => void configuration.close(), {once: true});
  if (!settings.encoding && !(await store.get(mark)))
    await store.create(mark, Buffer.from('1')).catch((error: unknown) => {
      if (!(error instanceof KeyExists)) throw error;
    });
  configuration.follow(signal);
  const encoding = (await settings.encoding?.()) ?? plainEncoding;
  const resourceOf = resourceByKey(prefix, naming);
  const cipherOf = (key: string) => {
    const resource = resourceOf(key);
    return resource && configuration.ciphers.of(resource);
  };
  return {
    store: encryptedStore(store, {prefix: naming.encryptedPrefix, cipherOf, encoding}, signal),
    checks: configuration.checks(),
  };
};

/** The configuration in use. */
class Configuration {
  readonly #settings: EncryptionSettings;
  readonly #metrics: ReloadMetrics;
  readonly #observe: TransformationObserver;
  readonly #kmsObserver: (name: string) => KmsObserver;
  #ciphers: ResourceCiphers | undefined;
  #hash = '';

  constructor(settings: EncryptionSettings) {
    this.#settings = settings;
    const {serverId: server, meter, clock} = settings;
    this.#metrics = reloadMetrics({subject: 'encryption', server, meter, clock});
    this.#observe = transformationObserver(settings);
    this.#kmsObserver = kmsMetrics(settings);
  }

  get ciphers(): ResourceCiphers {
    return this.#ciphers!;
  }

  /** Reads the file for the first time. */
  async open(): Promise<void> {
    const {path, log} = this.#settings;
    const {content, ciphers} = await this.#read().catch((error: unknown) => {
      throw new Error(`--encryption-provider-config: ${path}: ${messageOf(error)}`, {cause: error});
    });
    this.#ciphers = ciphers;
    this.#hash = labelHash(content);
    this.#metrics.applied(content);
    await Promise.all(
      ciphers.probes.map(probe =>
        probe.check().catch((error: unknown) => log.error({err: error}, 'a key management service does not work yet')),
      ),
    );
  }

  checks(): Encryption['checks'] {
    const {reloads} = this.#settings;
    const all = async (): Promise<void> => {
      for (const probe of this.ciphers.probes) await probe.check();
    };
    if (reloads) return [{name: 'kms-providers', check: all}];
    return this.ciphers.probes.map((probe, index) => ({name: `kms-provider-${index}`, check: () => probe.check()}));
  }

  /** Keeps key management services fresh and, if that is wanted, follows the file. */
  follow(signal: AbortSignal): void {
    const {clock, files, path, reloads} = this.#settings;
    this.#refresh(signal).catch((error: unknown) => clock.unhandled(error));
    if (reloads) followFiles({files, clock, paths: [path], signal, check: () => this.#reload(signal)});
  }

  close(): Promise<void> {
    return this.ciphers[Symbol.asyncDispose]();
  }

  async #read(): Promise<{readonly content: Buffer; readonly ciphers: ResourceCiphers}> {
    const {files, path, naming, reloads, clock, log, gate} = this.#settings;
    const content = await contentOf(files, path);
    if (content.length === 0) throw new Error(`encryption provider configuration file ${JSON.stringify(path)} is empty`);
    const entries = readEncryptionConfiguration(content.toString('utf8'), naming, reloads);
    if (!gate('KMSv1') && entries.some(({providers}) => providers.some(provider => provider.kind === 'kms' && provider.version === 'v1')))
      throw new Error(
        'KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead. Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.',
      );
    return {
      content,
      ciphers: ciphersOf(entries, {prefix: naming.encryptedPrefix, clock, log, observe: this.#observe, kmsObserver: this.#kmsObserver}),
    };
  }

  /** Asks the services of version 2 for their state regularly, which extends the use of their seeds. */
  async #refresh(signal: AbortSignal): Promise<void> {
    const {clock, log} = this.#settings;
    let waitMs = refreshMs;
    for (;;) {
      await sleep(clock, waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      waitMs = refreshMs;
      for (const probe of this.ciphers.probes) {
        if (probe.version !== 'v2') continue;
        await probe.check().catch((error: unknown) => {
          waitMs = retryMs;
          log.error({err: error}, 'a key management service does not work');
        });
      }
    }
  }

  async #reload(signal: AbortSignal): Promise<void> {
    const {clock, files, log, path} = this.#settings;
    let fresh: ResourceCiphers | undefined;
    try {
      if (labelHash(await contentOf(files, path)) === this.#hash) return;
      const {content, ciphers} = await this.#read();
      fresh = ciphers;
      await this.#untilHealthy(ciphers, signal);
      const old = this.#ciphers;
      this.#ciphers = fresh;
      this.#hash = labelHash(content);
      this.#metrics.reloaded('success');
      this.#metrics.applied(content);
      log.info({path}, 'the encryption configuration was loaded again');
      // Reads that have begun may still need the old services.
      clock.schedule(graceMs, () => old?.[Symbol.asyncDispose]());
    } catch (error) {
      await fresh?.[Symbol.asyncDispose]();
      if (signal.aborted) return;
      this.#metrics.reloaded('failure');
      log.error({path, err: error}, 'keeping the encryption configuration in use: the file cannot be loaded');
    }
  }

  /** Rejects with the last reason if the services of a configuration do not work within the grace period. */
  async #untilHealthy({probes}: ResourceCiphers, signal: AbortSignal): Promise<void> {
    const {clock} = this.#settings;
    const end = clock.monotonic() + graceMs;
    for (const probe of probes) {
      for (;;) {
        try {
          await probe.check();
          break;
        } catch (error) {
          if (clock.monotonic() >= end || signal.aborted)
            throw new Error(`health check for new transformers failed: ${messageOf(error)}`, {cause: error});
          await sleep(clock, 100, signal);
        }
      }
    }
  }
}

const transformationObserver = ({meter}: EncryptionSettings): TransformationObserver => {
  const operations = meter.counter({
    name: 'apiserver_storage_transformation_operations_total',
    help: 'Encryptions and decryptions of values, by the prefix of the values and the outcome.',
    labels: ['transformation_type', 'transformer_prefix', 'status'],
  });
  return (type, prefix, error) =>
    operations.add({transformation_type: type, transformer_prefix: prefix, status: error === undefined ? 'OK' : 'Unknown'});
};
