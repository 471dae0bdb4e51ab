// What the reviews of admission and conversion webhooks share: their versions, and the decoding of responses.

import type {GroupToken, Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {decodeValue} from '#src/schema/decode/decode.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {SchemaNode} from '#src/schema/node.js';

/** A kind of review that webhooks receive. */
export interface ReviewKind {
  readonly group: GroupToken;
  readonly kind: string;
  /** The versions that are known; by default `reviewVersions`. */
  readonly versions?: readonly string[];
  /** The fields of a response. */
  readonly fields: SchemaNode;
}

/** The supported versions of reviews. */
export const reviewVersions: readonly string[] = ['v1', 'v1beta1'];

const text: SchemaNode = {type: 'string'};

/** The fields of a Status in responses. */
export const statusFields: SchemaNode = {
  type: 'object',
  ref: {group: 'meta', version: 'v1', name: 'Status'},
  properties: new Map<string, SchemaNode>([
    ['kind', text],
    ['apiVersion', text],
    ['status', text],
    ['message', text],
    ['reason', text],
    ['code', {type: 'integer', format: 'int32'}],
    ['details', {type: 'any'}],
    ['metadata', {type: 'any'}],
  ]),
};

export const groupVersionKind = ({apiVersion = '', kind = ''}: KubeObject): string =>
  `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;

const decoded = <T>(received: PlainObject, fields: SchemaNode): T => {
  try {
    return decodeValue<T>(received, fields, 'Ignore').object;
  } catch (error) {
    throw error instanceof DecodeError ? new Error(error.message, {cause: error}) : error;
  }
};

/** Reads a response as a review in the version of the request. Throws an error that describes any other content. */
export const readReview = <T extends KubeObject>(
  received: PlainObject,
  review: ReviewKind,
  {naming, version}: {readonly naming: Naming; readonly version: string},
): T => {
  const {apiVersion, kind} = received as KubeObject;
  if (apiVersion === 'v1' && kind === 'Status') {
    decoded(received, statusFields);
    throw new Error(`converting (v1.Status) to (${version}.${review.kind}): unknown conversion`);
  }
  const known = (review.versions ?? reviewVersions).find(version => apiVersion === naming.apiVersion(review.group, version));
  if (apiVersion && kind && (!known || kind !== review.kind))
    throw new Error(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(naming.reviewScheme)}`,
    );
  if (apiVersion && kind && known !== version)
    throw new Error(`converting (${known}.${review.kind}) to (${version}.${review.kind}): unknown conversion`);
  return decoded<T>(received, review.fields);
};
