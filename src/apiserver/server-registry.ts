import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import {OwnedCaches} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import {resources} from '#src/resources/builtin/index.js';
import {servedVersions, type EmulatedRelease} from '#src/resources/builtin/served-versions.js';
import {storedKindOf} from '#src/resources/stored-version.js';
import {YamlReader} from '#src/schema/decode/yaml-reader.js';
import {builtinSchemas} from '#src/schema/builtin/schemas.js';
import type {Store} from '#src/storage/store.js';
import {Leases} from './registry/leases.js';
import {Registry} from './registry/registry.js';
import {defaultSelectionBytes, SelectionCache} from './registry/selection-cache.js';
import {WriteServices} from './registry/write-services.js';
import {CborEncoding} from './request/cbor-encoding.js';

/** The settings of a server's registry. The store is closed by its owner. */
export interface ServerRegistrySettings {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** First part of all keys. */
  readonly prefix: string;
  gate(name: string): boolean;
  readonly allowPrivileged: boolean;
  /** `--runtime-config`: group versions served in addition to, or excluded from, the defaults. */
  readonly runtimeConfig: ReadonlyMap<string, string>;
  /** The release to emulate, if it is not this server's own. */
  readonly release?: EmulatedRelease | undefined;
  /** The oldest release whose servers must be able to read what is stored. */
  readonly minCompatibility?: string | undefined;
  readonly authorizer: Authorizer;
  /** Whether tokens of service accounts can be requested. */
  readonly issuesTokens: boolean;
  /** Whether the metrics API is served. */
  readonly servesUsage: boolean;
  readonly eventTtlSeconds: number;
  readonly leaseReuseSeconds: number;
  readonly garbageCollector: boolean;
  readonly deleteCollectionWorkers: number;
  /** `--watch-cache`, and the resources whose `--watch-cache-sizes` is 0. */
  readonly watchCache: {readonly on: boolean; readonly without: ReadonlySet<string>};
  readonly log?: Log;
  readonly meter: Meter;
  readonly recorder?: FlightRecorder | undefined;
}

/** A definition without the actions that need a token issuer. */
const withoutTokens = ({actions, ...definition}: ResourceDefinition): ResourceDefinition => {
  const left = Object.entries(actions ?? {}).filter(([, {needs}]) => needs !== 'tokens');
  return left.length > 0 ? {...definition, actions: Object.fromEntries(left)} : definition;
};

const selections = new OwnedCaches<SelectionCache>('selections', ({bytes}) => ({bytes, maxBytes: defaultSelectionBytes}));

/**
 * Creates the registry of all built-in kinds. It serves reads, and accepts writes after `writes.begin` of its settings.
 */
export const createRegistry = (settings: ServerRegistrySettings): Registry => {
  const {naming, clock, random, store, gate, watchCache, log = noLog, meter} = settings;
  const schemas = builtinSchemas();
  const served = resources.filter(({served: {needs} = {}}) => needs !== 'usage' || settings.servesUsage);
  const selection = new SelectionCache(meter);
  selections.add(selection);
  return new Registry(settings.issuesTokens ? served : served.map(withoutTokens), {
    store,
    log,
    naming,
    schemas,
    cbor: gate('CBORServingAndStorage') ? new CborEncoding(schemas, naming) : undefined,
    yaml: new YamlReader(clock),
    clock,
    random,
    prefix: settings.prefix,
    gate,
    allowPrivileged: settings.allowPrivileged,
    authorizer: settings.authorizer,
    leases: new Leases(store, clock, settings.leaseReuseSeconds),
    eventTtlSeconds: settings.eventTtlSeconds,
    garbageCollector: settings.garbageCollector,
    deleteCollectionWorkers: settings.deleteCollectionWorkers,
    // Events are many and seldom read again: like upstream, they are not cached.
    isCached: ({group, resource}) =>
      watchCache.on && !(group === '' && resource === 'events') && !watchCache.without.has(group ? `${resource}.${group}` : resource),
    meter,
    selection,
    serves: servedVersions(settings.runtimeConfig, settings),
    storedKind: definition => storedKindOf(definition, settings.minCompatibility),
    writes: new WriteServices(),
    recorder: settings.recorder,
  });
};
