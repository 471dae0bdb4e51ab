// Admission webhooks: defaulting and validation of a kind as plain functions, and the AdmissionReview around them.

import {invalidObject} from '#src/api/field-error.js';
import type {Frozen} from '#src/api/key.js';
import {groupOfVersion, type Kind} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {badRequest, type Status} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {encodedInSteps} from '#src/base/json/json-text-steps.js';
import {collectFindings, type Findings} from './findings.js';
import {jsonDifference} from './json-difference.js';
import {checkMatching, type DefaultingOptions, type Matching, type Operation, type ValidationOptions} from './matching.js';
import {isRepeatable, type ReceivedReview} from './received-review.js';
import {partsOfTarget, type WebhookTarget} from './target.js';

/** The request under admission. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: Operation;
  readonly name: string;
  readonly namespace: string;
  /** The resource as the webhook's rules match it. */
  readonly resource: {readonly group: string; readonly version: string; readonly resource: string};
  readonly subresource: string;
  /** Whether the request is a dry run: then a webhook must have no side effects. */
  readonly dryRun: boolean;
  readonly user: {readonly username: string; readonly groups: readonly string[]};
  /** Aborts when the caller stops waiting. */
  readonly signal: AbortSignal;
}

/** The arguments of a validation. */
export interface ValidationContext<T extends KubeObject> {
  /** Undefined for a deletion. */
  readonly object: Frozen<T> | undefined;
  /** Undefined for a creation. */
  readonly oldObject: Frozen<T> | undefined;
  readonly request: AdmissionRequest;
}

/** A handler of a webhook, which a manager serves. */
export interface Webhook {
  readonly type: 'defaulting' | 'validating' | 'converting' | 'authenticating' | 'authorizing';
  readonly kind: Kind;
}

/** The AdmissionReview that the API server sends. */
interface AdmissionReview extends KubeObject {
  readonly request?: {
    readonly uid?: string | null;
    readonly operation?: AdmissionRequest['operation'] | null;
    readonly name?: string | null;
    readonly namespace?: string | null;
    readonly resource?: AdmissionRequest['resource'] | null;
    readonly subResource?: string | null;
    readonly dryRun?: boolean | null;
    readonly userInfo?: {readonly username?: string | null; readonly groups?: readonly string[] | null} | null;
    readonly object?: KubeObject | null;
    readonly oldObject?: KubeObject | null;
  };
}

interface AdmissionResponse {
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly status?: Partial<Status>;
  readonly patch?: string;
  readonly patchType?: 'JSONPatch';
}

/** An admission webhook with its handler. */
export interface AdmissionWebhook extends Webhook {
  readonly type: 'defaulting' | 'validating';
  /** Empty for the kind itself. */
  readonly subresource: string;
  /** Which requests the webhook is called for. */
  readonly matching: Matching;
  respond(given: ReviewedRequest): Promise<AdmissionResponse>;
}

interface ReviewedRequest {
  readonly object?: KubeObject;
  readonly oldObject?: KubeObject;
  readonly request: AdmissionRequest;
  /** The review that contains the objects. */
  readonly received: ReceivedReview;
}

/**
 * Sets defaults of objects that are created or updated: `set` gets a copy that it may change, and must come to the same
 * result when it is called again.
 *
 *     defaulting(Backup, backup => {
 *       backup.spec.keep ??= 7;
 *     });
 */
export const defaulting = <T extends KubeObject>(
  target: WebhookTarget<T>,
  set: (object: T, request: AdmissionRequest) => void | Promise<void>,
  options: DefaultingOptions = {},
): Webhook => {
  const webhook: AdmissionWebhook = {
    type: 'defaulting',
    ...partsOfTarget(target as WebhookTarget),
    matching: checkMatching(options),
    async respond({object, request, received}) {
      if (!object) return {allowed: true};
      await set(object as T, request);
      // The object is compared with a second parse of the request: copying a large object would block the event loop.
      const sent = ((await received.parse()) as AdmissionReview).request?.object;
      const exact = ((await received.parseExactly()) as AdmissionReview).request?.object;
      const patch = await received.inPieces(jsonDifference(sent, object, '', exact));
      if (patch.length === 0) return {allowed: true};
      return {allowed: true, patchType: 'JSONPatch', patch: (await received.inPieces(encodedInSteps(patch))).toString('base64')};
    },
  };
  return webhook;
};

/**
 * Validates objects: errors of fields that `validate` yields deny the request (422), warnings are shown to its user. A
 * thrown `StatusError` denies it with that status.
 *
 *     validating(Backup, function* ({object, oldObject}) {
 *       if (object!.spec.keep > 100) yield invalid('spec.keep', object!.spec.keep, 'at most 100 are kept');
 *       if (oldObject && oldObject.spec.bucket !== object!.spec.bucket) yield forbidden('spec.bucket', 'it is immutable');
 *     });
 */
export const validating = <T extends KubeObject>(
  target: WebhookTarget<T>,
  validate: (context: ValidationContext<T>) => Findings,
  options: ValidationOptions = {},
): Webhook => {
  const parts = partsOfTarget(target as WebhookTarget);
  const webhook: AdmissionWebhook = {
    type: 'validating',
    ...parts,
    matching: checkMatching(options),
    async respond({object, oldObject, request}) {
      const given = {object: object as Frozen<T> | undefined, oldObject: oldObject as Frozen<T> | undefined, request};
      const {errors, warnings} = await collectFindings(validate(given));
      const warned = warnings.length > 0 ? {warnings} : {};
      if (errors.length === 0) return {allowed: true, ...warned};
      const reviewed = object ?? oldObject;
      const named = {group: groupOfVersion(reviewed?.apiVersion ?? ''), kind: reviewed?.kind ?? parts.kind.kind};
      return {allowed: false, ...warned, status: invalidObject(named, request.name, errors).status};
    },
  };
  return webhook;
};

/**
 * Returns the path of an admission webhook: `/validate-example-com-v1-backup`, and for a subresource or a named one
 * `/validate--v1-pod-eviction`.
 */
export const pathOf = ({type, kind, subresource, matching: {name}}: AdmissionWebhook, naming: Naming): string => {
  const target = kind.plural === '*' ? ['any'] : [naming.group(kind.group).replaceAll('.', '-'), kind.version, kind.kind.toLowerCase()];
  const more = [...(subresource ? [subresource === '*' ? 'any' : subresource] : []), ...(name ? [name] : [])];
  return `/${[type === 'validating' ? 'validate' : 'mutate', ...target, ...more].join('-')}`;
};

/** The context of a review. */
export interface ReviewOptions {
  readonly signal: AbortSignal;
  /** Returns the status of a denial because the webhook failed: an object that was not validated must not be stored. */
  failed(error: unknown): Partial<Status>;
}

/** Answers a review. Throws a `StatusError` for an invalid body. */
export const answerReview = async (
  webhook: AdmissionWebhook,
  received: ReceivedReview,
  {signal, failed}: ReviewOptions,
): Promise<{readonly review: object; readonly code: number}> => {
  const {apiVersion, kind, request} = ((await received.parse()) ?? {}) as AdmissionReview;
  if (kind !== 'AdmissionReview' || !isRepeatable(apiVersion) || !isRepeatable(request?.uid) || !request.operation)
    throw badRequest('the body is not an AdmissionReview with a request');
  const {uid, operation, object, oldObject, userInfo} = request;
  const [namespace, subresource, dryRun] = [request.namespace ?? '', request.subResource ?? '', request.dryRun ?? false];
  const [username, groups] = [userInfo?.username ?? '', userInfo?.groups ?? []];
  const resource = request.resource ?? {group: '', version: '', resource: ''};
  const name = request.name || (object?.metadata?.name ?? '');
  const given = {
    ...(object ? {object} : {}),
    ...(oldObject ? {oldObject} : {}),
    request: {uid, operation, name, namespace, resource, subresource, dryRun, user: {username, groups}, signal},
    received,
  };
  let response: AdmissionResponse;
  try {
    response = await webhook.respond(given);
  } catch (error) {
    response = {allowed: false, status: failed(error)};
  }
  return {review: {apiVersion, kind, response: {uid, ...response}}, code: response.status?.code ?? 200};
};
