import type {Authorizer} from '#src/api/authorization.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {ResourceRef} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import type {YamlReader} from '#src/schema/decode/yaml-reader.js';
import type {Schemas} from '#src/schema/builtin/schemas.js';
import {type Store} from '#src/storage/store.js';
import type {CborEncoding} from '#src/apiserver/request/cbor-encoding.js';
import type {Leases} from './leases.js';
import {type SelectionCache} from './selection-cache.js';
import type {WriteServices} from './write-services.js';

/** The settings and services of a registry; one per server. */
export interface RegistrySettings {
  readonly store: Store;
  readonly naming: Naming;
  readonly schemas: Schemas;
  /** Present if CBOR is enabled. */
  readonly cbor: CborEncoding | undefined;
  /** Parses request bodies in YAML. */
  readonly yaml: YamlReader;
  readonly clock: Clock;
  readonly random: Random;
  /** First part of all keys, for example `/registry`. */
  readonly prefix: string;
  gate(name: string): boolean;
  readonly allowPrivileged: boolean;
  readonly authorizer: Authorizer;
  readonly leases: Leases;
  readonly eventTtlSeconds: number;
  readonly garbageCollector: boolean;
  readonly deleteCollectionWorkers: number;
  readonly meter: Meter;
  /** Logs requests to the store at high verbosity. */
  readonly log: Log;
  /** The shared bound of the cached attributes for selectors and tables. */
  readonly selection: SelectionCache;
  /** Whether a resource has a watch cache: then a list at any version ignores its limit. */
  isCached(resource: ResourceRef): boolean;
  /** Whether a version of a kind is served; objects may be stored in one that is not. */
  serves(kind: Kind): boolean;
  /** Returns the version in which objects of a kind are stored, as published to clients and other servers. */
  storedKind(definition: ResourceDefinition): Kind;
  /** Admission and pools, once the server takes writes. */
  readonly writes: WriteServices;
  /** Where changes of the store are reported; undefined if they are not. */
  readonly recorder: FlightRecorder | undefined;
}
