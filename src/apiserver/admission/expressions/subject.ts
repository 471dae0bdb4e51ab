import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {ObjectVersion} from '#src/apiserver/admission/matching/object-versions.js';
import {reviewOf} from '#src/apiserver/admission/review/request.js';

/** The variables of a request in expressions, in the negotiated version. */
export interface Subject {
  readonly object: KubeObject | null;
  readonly oldObject: KubeObject | null;
  /** The attributes of the request, without the objects, which have their own variables. */
  readonly request: PlainObject;
}

/** Returns the variables of a request: the same data as webhooks receive. */
export const subjectOf = async (
  attributes: AdmissionAttributes,
  matched: ObjectVersion,
  own: ObjectVersion,
  naming: Naming,
): Promise<Subject> => {
  const {uid: _, object, oldObject, ...request} = (await reviewOf(attributes, matched, own, {naming, version: 'v1', uid: ''})).request;
  return {object: object as KubeObject | null, oldObject: oldObject as KubeObject | null, request};
};

/** The variables of match conditions: their request has the original resource, whichever version was matched. */
export const conditionSubject = ({request, ...objects}: Subject): Subject => ({
  ...objects,
  request: {...request, resource: request['requestResource']},
});
