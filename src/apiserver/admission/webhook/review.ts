// The response of a webhook as an AdmissionReview: how it is read and checked.

import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import {groupVersionKind, readReview as readAs, statusFields, type ReviewKind} from '#src/apiserver/backends/review.js';

/** The result of a webhook's response. */
export interface ReviewResult {
  readonly allowed: boolean;
  readonly result: PlainObject | undefined;
  /** JSON in base64, with its type. */
  readonly patch: string;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

const text: SchemaNode = {type: 'string'};
const ref = (name: string) => ({group: 'admission', version: 'v1', name});

const responseFields: SchemaNode = {
  type: 'object',
  ref: ref('AdmissionReview'),
  properties: new Map<string, SchemaNode>([
    ['kind', text],
    ['apiVersion', text],
    [
      'response',
      {
        type: 'object',
        ref: ref('AdmissionResponse'),
        properties: new Map<string, SchemaNode>([
          ['uid', text],
          ['allowed', {type: 'boolean'}],
          ['status', statusFields],
          ['patch', {type: 'string', format: 'byte'}],
          ['patchType', text],
          ['auditAnnotations', {type: 'map', items: text}],
          ['warnings', {type: 'array', items: text}],
        ]),
      },
    ],
  ]),
};

interface Response {
  readonly uid?: string;
  readonly allowed?: boolean;
  readonly status?: PlainObject;
  readonly patch?: string;
  readonly patchType?: string;
  readonly auditAnnotations?: Readonly<Record<string, string>>;
  readonly warnings?: readonly string[];
}

const review: ReviewKind = {group: 'admission', kind: 'AdmissionReview', fields: responseFields};

/** Reads a response as a review in the version of the request. Throws an error that describes any other content. */
export const readReview = (received: PlainObject, request: {readonly naming: Naming; readonly version: string}) =>
  readAs<KubeObject & {readonly response?: Response}>(received, review, request);

/**
 * Returns the result of a response. Throws the reason if it is invalid: in v1 the uid must match, and only mutating
 * webhooks may send patches.
 */
export const reviewResult = (
  received: KubeObject & {readonly response?: Response},
  {naming, version, uid, mutates}: {readonly naming: Naming; readonly version: string; readonly uid: string; readonly mutates: boolean},
): ReviewResult => {
  const {response} = received;
  if (!response) throw new Error('webhook response was absent');
  const {patch = '', patchType} = response;
  if (version === 'v1') {
    const expected = {apiVersion: naming.apiVersion('admission', version), kind: 'AdmissionReview'};
    if (response.uid !== uid) throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`);
    if (groupVersionKind(received) !== groupVersionKind(expected))
      throw new Error(`expected webhook response of ${groupVersionKind(expected)}, got ${groupVersionKind(received)}`);
    if (mutates && patch && patchType === undefined) throw new Error('webhook returned response.patch but not response.patchType');
    if (mutates && !patch && patchType !== undefined) throw new Error('webhook returned response.patchType but not response.patch');
    if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""');
    if (!mutates && patch) throw new Error('validating webhook may not return response.patch');
    if (!mutates && patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
  }
  return {
    allowed: response.allowed ?? false,
    result: response.status,
    patch: mutates ? patch : '',
    patchType: version === 'v1' ? (patchType ?? '') : patch ? 'JSONPatch' : '',
    warnings: response.warnings ?? [],
    annotations: response.auditAnnotations ?? {},
  };
};
