/**
 * The public API for programs that embed a control plane: `import {startPlane} from '@platio/plat'`. Types of its
 * objects are added when it is packed (tools/types.mjs).
 */
import type {Plane} from './inputs/embedded.js';
import type {PlaneOptions} from './inputs/options.js';
import {startPlane as start} from './plane.js';

/**
 * Starts a whole control plane in this process and resolves once it serves and every controller's caches are synced.
 */
export const startPlane: (options?: PlaneOptions) => Promise<Plane> = start;
export type {ForkPlaneOptions, Plane, PlaneSnapshot, ServingPair} from './inputs/embedded.js';
export type {PlaneOptions} from './inputs/options.js';
export type {ServedConsole} from '#src/console/served-console.js';
export {PlaneOptionError} from './inputs/check-options.js';
export type {Manifest} from './manifests/read.js';
export type {LocalWebhooks} from './manifests/webhooks.js';
export {customKind} from '#src/api/kind.js';
export {kinds, type Kind, type ObjectOf} from '#src/api/kinds/index.js';
export type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
export type {NodeMetrics, PodMetrics} from '#src/api/kinds/metrics.js';
export type {Workload} from '#src/api/kinds/scheduling.js';
export type {StorageVersionMigration} from '#src/api/kinds/storagemigration.js';
export {naming, type GroupToken, type Naming, type NamingName} from '#src/api/naming.js';
export {isAlreadyExists, isConflict, isForbidden, isNotFound, isUnauthorized, StatusError, type Status} from '#src/api/status.js';
export type {UserInfo} from '#src/api/user.js';
export type {WatchEvent} from '#src/api/watch.js';
export type * from '#src/api/types.js';
export type {CallOptions, ListOptions, PatchType, ResourceClient, WatchOptions} from '#src/client/client.js';
export type {
  ApplyOptions,
  Client,
  DeleteKeyOptions,
  DeleteObjectOptions,
  GetOptions,
  SubresourceOptions,
  WriteOptions,
} from '#src/operator/client/client.js';
export type {
  Configuration,
  Mutable,
  NewObject,
  Outcome,
  StatusConfiguration,
  Stored,
  StoredList,
  Written,
} from '#src/operator/client/objects.js';
export type {FlightRecorder} from '#src/observe/flight-recorder.js';
export type {AdmissionRecord, ChangeRecord, FieldChange, FlightRecord, ReconcileRecord, SchedulingRecord} from '#src/recorder/records.js';
export {VirtualClock} from '#src/base/virtual-clock.js';
export type {Clock} from '#src/base/clock.js';
export type {Log, LogFields, LogMethod} from '#src/base/log.js';
export type {Random} from '#src/base/random.js';
