// The request of an AdmissionReview: what webhooks receive and what expressions read, in each supported version.

import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {namespaceOf} from '#src/apiserver/admission/matching/match.js';
import {operationOptions} from './options.js';

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
