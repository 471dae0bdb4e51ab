// The plugin ImagePolicyWebhook: a server is asked whether the images of a pod may run, by an ImageReview.

import {labelKeyProblems} from '#src/api/names.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {isOver, requestTimedOut} from '#src/apiserver/admission/webhook/call.js';
import {readReview, type ReviewKind} from '#src/apiserver/backends/review.js';
import type {ReviewWebhook} from '#src/apiserver/backends/review-webhook.js';
import type {SchemaNode} from '#src/schema/node.js';
import {ResultCache} from '#src/serving/delegation.js';

/** The server that reviews images, and what is done with its answers. */
export interface ImagePolicySettings {
  readonly kubeConfigFile: string;
  /** How long reviews that allow and deny are cached; 0 disables it. */
  readonly allowTtlMs: number;
  readonly denyTtlMs: number;
  /** The wait before the first retry. */
  readonly retryBackoffMs: number;
  /** Whether pods are admitted when there is no valid answer. */
  readonly defaultAllow: boolean;
}

export interface ImagePolicyParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
}

/** The server that reviews images. */
export interface ImagePolicy extends Omit<ImagePolicySettings, 'kubeConfigFile' | 'retryBackoffMs'> {
  readonly webhook: Pick<ReviewWebhook, 'post'>;
}

interface Status {
  readonly allowed?: boolean;
  readonly reason?: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

const text: SchemaNode = {type: 'string'};
const version = 'v1alpha1';
const review: ReviewKind = {
  group: 'imagepolicy',
  kind: 'ImageReview',
  versions: [version],
  fields: {
    type: 'object',
    ref: {group: 'imagepolicy', version, name: 'ImageReview'},
    properties: new Map<string, SchemaNode>([
      ['kind', text],
      ['apiVersion', text],
      [
        'status',
        {
          type: 'object',
          ref: {group: 'imagepolicy', version, name: 'ImageReviewStatus'},
          properties: new Map<string, SchemaNode>([
            ['allowed', {type: 'boolean'}],
            ['reason', text],
            ['auditAnnotations', {type: 'map', items: text}],
          ]),
        },
      ],
    ]),
  },
};

const bound = new CacheBound('image_reviews', 4 << 20);

/**
 * The content of a review: the images of the pod, or those of its ephemeral containers, and the annotations that are
 * meant for the policy.
 */
const specOf = (attributes: AdmissionAttributes, {apiSuffix}: Naming) => {
  const {subresource, namespace} = attributes;
  const {spec, metadata} = podIn(attributes) ?? {};
  const containers = subresource ? (spec?.ephemeralContainers ?? []) : [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.includes(`.image-policy.${apiSuffix}/`));
  return {
    ...(containers.length > 0 ? {containers: containers.map(({image}) => (image ? {image} : {}))} : {}),
    ...(annotations.length > 0 ? {annotations: Object.fromEntries(annotations.sort(([a], [b]) => (a < b ? -1 : 1)))} : {}),
    ...(namespace ? {namespace} : {}),
  };
};

/**
 * Refuses pods and ephemeral containers with images that the server does not allow. Its answers are cached; failures
 * are not.
 */
export const imagePolicyWebhook = (
  {webhook, allowTtlMs, denyTtlMs, defaultAllow}: ImagePolicy,
  {naming, clock, log}: ImagePolicyParts,
): AdmissionPlugin => {
  const name = 'ImagePolicyWebhook';
  const apiVersion = naming.apiVersion('imagepolicy', version);
  const cache = new ResultCache<Status>(bound, clock, ({allowed}) => (allowed ? allowTtlMs : denyTtlMs));
  const prefix = `${name.toLowerCase()}.image-policy.${naming.apiSuffix}/`;

  const reviewed = (spec: object): Promise<Status> =>
    webhook.post(
      {kind: review.kind, apiVersion, metadata: {}, spec, status: {allowed: false}},
      response => readReview<KubeObject & {status?: Status}>(response, review, {naming, version}).status ?? {},
    );

  const annotateAll = ({annotate}: AdmissionAttributes, {auditAnnotations = {}}: Status): void => {
    for (const [key, value] of annotate ? Object.entries(auditAnnotations) : []) {
      const problems = labelKeyProblems(prefix + key);
      if (problems.length === 0) annotate!(prefix + key, value);
      else log.warn({key, problems}, 'an audit annotation of the image policy webhook has an invalid key');
    }
  };

  return {
    name,
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods, '', 'ephemeralcontainers')},
    async validate(attributes) {
      const spec = specOf(attributes, naming);
      let status: Status;
      try {
        status = await cache.get(JSON.stringify(spec), () => reviewed(spec));
      } catch (error) {
        log.v(2).info({err: error}, 'error contacting webhook backend');
        if (isOver(attributes, clock)) throw requestTimedOut();
        if (!defaultAllow) throw refuse(attributes, (error as Error).message);
        attributes.annotate?.(`${prefix}failed-open`, 'true');
        return;
      }
      if (isOver(attributes, clock)) throw requestTimedOut();
      annotateAll(attributes, status);
      if (status.allowed) return;
      throw refuse(
        attributes,
        status.reason
          ? `image policy webhook backend denied one or more images: ${status.reason}`
          : 'one or more images rejected by webhook backend',
      );
    },
  };
};
