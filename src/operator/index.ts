/** The controller runtime for your own controllers: `import {defineController} from '@platio/plat/operator'`. */
import type {RunManagerOptions} from './run-manager.js';

export {
  anyOf,
  allOf,
  annotationsChanged,
  generationChanged,
  labelsChanged,
  matching,
  not,
  resourceVersionChanged,
  type Predicate,
} from './triggers/predicates.js';
export {againAfter, durationOf, Expected, Terminal, type Duration, type Result} from './result.js';
export {index, on, selection, type Index, type Selection, type SelectionOptions, type Source} from './sources.js';
export {mapped, type MapContext, type Watch} from './watches.js';
export type {KeyLike} from './client/keys.js';
export type {StatusChange, StatusContext} from './client/status-change.js';
export type {Caches, CacheListOptions} from './caches.js';
export type {
  ApplyOptions,
  Client,
  DeleteKeyOptions,
  DeleteObjectOptions,
  GetOptions,
  SubresourceOptions,
  WriteOptions,
} from './client/client.js';
export {createClient, type ClientOptions, type ConnectedClient, type Impersonated} from './create-client.js';
export type {
  AnyObject,
  Configuration,
  Mutable,
  NewObject,
  Outcome,
  StatusConfiguration,
  StatusOf,
  Stored,
  StoredList,
  Written,
} from './client/objects.js';
export {conditionOf, isConditionTrue, removeCondition, setCondition} from './conditions.js';
export {
  defineController,
  type ControllerDefinition,
  type OperatorController,
  type RateLimit,
  type ReconcileContext,
  type RetryOptions,
} from './controller.js';
export {createManager, type Manager, type ManagerOptions, type RunOutcome} from './manager.js';
export type {Runnable, RunnableContext} from './runnables.js';
export {recordTo, type RecordToOptions} from './program/record-to.js';
export type {FlightRecorder} from '#src/observe/flight-recorder.js';
export {fromEvents, type EventSource, type Events, type EventsOptions, type OpenContext, type SubscribableEvents} from './events.js';
export type {ProgramContext, ProgramWebhooks, RunManagerOptions} from './run-manager.js';
export type {TracingOptions} from './tracing/managed-tracing.js';
export type {WebhookOptions} from './managed-webhooks.js';
export {defaulting, validating, type AdmissionRequest, type ValidationContext, type Webhook} from './webhooks/admission.js';
export type {AdmissionOptions, DefaultingOptions, MatchCondition, Operation, ValidationOptions} from './webhooks/matching.js';
export {AnyKind, subresource, type Subresource, type WebhookTarget} from './webhooks/target.js';
export {
  authenticating,
  authorizing,
  type AccessSelector,
  type Authenticated,
  type AuthenticatedUser,
  type AuthenticationRequest,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type ResourceAccess,
} from './webhooks/access-reviews.js';
export {webhookKubeconfig, type WebhookKubeconfigOptions} from './webhooks/webhook-kubeconfig.js';
export type {CertificateSource} from './webhooks/certificates.js';
export {converting, type ConversionOptions, type VersionConversion} from './webhooks/conversion.js';
export {
  duplicate,
  forbidden,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
  warning,
  type FieldError,
  type Finding,
  type Findings,
  type Warning,
} from './webhooks/findings.js';
export {webhookConfigurations, type WebhookAddress, type WebhookConfigurationOptions} from './webhooks/manifests.js';
export type {LeaderElectionOptions} from './leader-election-options.js';
export type {Check, HealthAnswer} from '#src/observe/health.js';
export type {Meter} from '#src/base/meter.js';
export {customKind} from '#src/api/kind.js';
export type {Kind, ObjectOf} from '#src/api/kinds/index.js';
export type {ListOptions} from '#src/client/client.js';
export {copyOf, keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
export type {Condition, KubeList, KubeObject, ObjectMeta, OwnerReference} from '#src/api/types.js';
export {isAlreadyExists, isConflict, isForbidden, isNotFound, StatusError, type Status} from '#src/api/status.js';
export type {EventRecorder} from '#src/runtime/events/events.js';

/**
 * Runs an operator as a program: parses flags (`--help` lists them) and their variables (`OPERATOR_CONCURRENCY=4` for
 * `--concurrency=4`), connects by a kubeconfig or the service account of the pod, serves health and metrics, and runs
 * the controllers until SIGTERM or SIGINT. Then reconciles in progress end, the Lease is released, and the process
 * exits with code 0. Invalid settings, a lost lead and reconciles that do not end make it exit with code 1 and one line
 * on standard error. Never resolves.
 *
 *     await runManager({name: 'backups', controllers: [backups]});
 */
export const runManager = async (options: RunManagerOptions): Promise<void> => {
  // Loaded late: operators that create a manager of their own need nothing of it.
  const program = await import('./run-manager.js');
  await program.runManager(options);
};
