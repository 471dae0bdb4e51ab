import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {groupVersionKind, readReview, reviewVersions, statusFields, type ReviewKind} from '#src/apiserver/backends/review.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';

const text: SchemaNode = {type: 'string'};
const kind = 'ConversionReview';
const ref = (name: string) => ({group: 'apiextensions', version: 'v1', name});

const review: ReviewKind = {
  group: 'apiextensions',
  kind,
  fields: {
    type: 'object',
    ref: ref(kind),
    properties: new Map<string, SchemaNode>([
      ['kind', text],
      ['apiVersion', text],
      [
        'response',
        {
          type: 'object',
          ref: ref('ConversionResponse'),
          properties: new Map<string, SchemaNode>([
            ['uid', text],
            // Each object is read on its own.
            ['convertedObjects', {type: 'array'}],
            ['result', statusFields],
          ]),
        },
      ],
    ]),
  },
};

/** The parameters of a request, by which its response is checked. */
export interface ReviewRequest {
  readonly naming: Naming;
  /** The version of the review. */
  readonly version: string;
  readonly uid: string;
}

/** The first supported version among those that a webhook accepts. Throws when there is none. */
export const reviewVersion = (accepted: readonly string[]): string => {
  const version = accepted.find(one => reviewVersions.includes(one));
  if (version === undefined) throw new Error('no supported conversion review versions');
  return version;
};

/** The request to a webhook. Upstream sends the empty response as well. */
export const reviewRequest = (objects: readonly object[], desiredAPIVersion: string, {naming, version, uid}: ReviewRequest) => ({
  kind,
  apiVersion: naming.apiVersion(review.group, version),
  request: {uid, desiredAPIVersion, objects},
  response: {uid: '', convertedObjects: null, result: {metadata: {}}},
});

type Review = KubeObject & {
  readonly response?: {
    readonly uid?: string;
    readonly convertedObjects?: readonly unknown[];
    readonly result?: {readonly status?: string; readonly message?: string};
  };
};

/** Reads a response. Throws an error that describes any other content. */
export const readResponse = (received: PlainObject, request: ReviewRequest): Review => readReview<Review>(received, review, request);

/** Returns the objects of a response. Throws the reason if there are none: in v1 the uid of the request must match. */
export const objectsOf = (received: Review, {naming, version, uid}: ReviewRequest): readonly unknown[] => {
  const expected = {apiVersion: naming.apiVersion(review.group, version), kind};
  if (version === 'v1' && groupVersionKind(received) !== groupVersionKind(expected))
    throw new Error(`expected webhook response of ${groupVersionKind(expected)}, got ${groupVersionKind(received)}`);
  const {response} = received;
  if (!response) throw new Error('no response provided');
  if (version === 'v1' && response.uid !== uid)
    throw new Error(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? '')}`);
  const {status = '', message} = response.result ?? {};
  if (status !== 'Success') throw new Error(message || `response.result.status was '${status}', not 'Success'`);
  return response.convertedObjects ?? [];
};
