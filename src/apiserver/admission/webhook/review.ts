// The AdmissionReview of a webhook call: its request for each supported version, and the checks of its response.

import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {namespaceOf} from '#src/apiserver/admission/matching/match.js';
import {operationOptions} from '#src/apiserver/admission/options.js';
import {groupVersionKind, readReview as readAs, statusFields, type ReviewKind} from '#src/apiserver/backends/review.js';

/** A request to a webhook. */
export interface Review extends KubeObject {
  readonly request: {readonly uid: string} & PlainObject;
}

const given = <T>(name: string, value: T | undefined): Record<string, T> =>
  value === undefined || value === '' || (Array.isArray(value) && value.length === 0) ? {} : {[name]: value};

/** Returns the review of a request in a version that the webhook supports. */
export const reviewOf = async (
  attributes: AdmissionAttributes,
  matched: ObjectVersion,
  own: ObjectVersion,
  {naming, version, uid}: {readonly naming: Naming; readonly version: string; readonly uid: string},
): Promise<Review> => {
  const {operation, subresource, user, object, oldObject} = attributes;
  return {
    kind: 'AdmissionReview',
    apiVersion: naming.apiVersion('admission', version),
    request: {
      uid,
      kind: {group: matched.kindGroup, version: matched.kindVersion, kind: matched.kind},
      resource: {group: matched.group, version: matched.version, resource: matched.resource},
      ...given('subResource', subresource),
      requestKind: {group: own.kindGroup, version: own.kindVersion, kind: own.kind},
      requestResource: {group: own.group, version: own.version, resource: own.resource},
      ...given('requestSubResource', subresource),
      ...given('name', attributes.ofCollection ? '' : attributes.name),
      ...given('namespace', namespaceOf(attributes)),
      operation,
      userInfo: {
        ...given('username', user.name),
        ...given('uid', user.uid),
        ...given('groups', user.groups),
        ...(user.extra && Object.keys(user.extra).length > 0 ? {extra: user.extra} : {}),
      },
      object: object ? await matched.of(object) : null,
      oldObject: oldObject ? await matched.of(oldObject) : null,
      dryRun: attributes.dryRun,
      options: operationOptions(attributes, naming),
    },
  };
};

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
export const readReview = (answer: PlainObject, request: {readonly naming: Naming; readonly version: string}) =>
  readAs<KubeObject & {readonly response?: Response}>(answer, review, request);

/** Returns the result of a response. Throws the reason if it is invalid: in v1 the uid must match, and only mutating webhooks may send patches. */
export const reviewResult = (
  answer: KubeObject & {readonly response?: Response},
  {naming, version, uid, mutates}: {readonly naming: Naming; readonly version: string; readonly uid: string; readonly mutates: boolean},
): ReviewResult => {
  const {response} = answer;
  if (!response) throw new Error('webhook response was absent');
  const {patch = '', patchType} = response;
  if (version === 'v1') {
    const expected = {apiVersion: naming.apiVersion('admission', version), kind: 'AdmissionReview'};
    if (response.uid !== uid) throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`);
    if (groupVersionKind(answer) !== groupVersionKind(expected))
      throw new Error(`expected webhook response of ${groupVersionKind(expected)}, got ${groupVersionKind(answer)}`);
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
