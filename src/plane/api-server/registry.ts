// The second stage of an API server: the registry of resources over the store.

import {createRegistry} from '#src/apiserver/server-registry.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Log} from '#src/base/log.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {binaryVersion, type Versions} from '#src/options/versions.js';
import {explicitAlphas, type EmulatedRelease} from '#src/resources/builtin/served-versions.js';
import {issuesTokens} from './authentication/service-account-tokens.js';
import type {ApiServerParts} from './parts.js';
import type {Settings} from './settings.js';
import {storePrefix} from './store-servers.js';

/** Returns the registry of the resources that the options enable. */
export const registryOf = (parts: ApiServerParts, {authorizers}: Settings): Registry => {
  const {options, naming, clock, random, log, store, gate, recorder, metrics: meter} = parts;
  return createRegistry({
    naming,
    clock,
    random,
    store,
    meter,
    log,
    gate,
    recorder,
    prefix: storePrefix(options),
    runtimeConfig: options.runtimeConfig,
    release: releaseOf(options, parts.versions, log),
    minCompatibility: parts.versions.minCompatibility,
    authorizer: authorizers.authorizer,
    issuesTokens: issuesTokens(options),
    servesUsage: parts.usage !== undefined,
    allowPrivileged: options.allowPrivileged,
    eventTtlSeconds: options.eventTtl / 1000,
    leaseReuseSeconds: options.leaseReuseDurationSeconds,
    garbageCollector: options.enableGarbageCollector,
    deleteCollectionWorkers: options.deleteCollectionWorkers,
    watchCache: {on: options.watchCache, without: uncached(options.watchCacheSizes)},
  });
};

/** The emulated release, if it is not the program's own. Warns about its alpha versions. */
const releaseOf = (options: ApiserverOptions, {emulated}: Versions, log: Log): EmulatedRelease | undefined => {
  if (emulated === binaryVersion) return undefined;
  for (const api of explicitAlphas(options.runtimeConfig))
    log.warn(
      {api, emulated, binary: binaryVersion},
      "alpha API enabled with an emulated version instead of the binary's own version: this is unsupported, proceed at your own risk",
    );
  return {
    emulated,
    forwardCompatible: options.emulationForwardCompatible,
    namedForwardCompatible: options.runtimeConfigEmulationForwardCompatible,
  };
};

/** The resources of `--watch-cache-sizes` with size 0; other sizes have no effect. */
const uncached = (sizes: readonly string[]): ReadonlySet<string> =>
  new Set(
    sizes
      .map(entry => entry.split('#'))
      .filter(([, size]) => Number(size) === 0)
      .map(([resource = '']) => resource),
  );
