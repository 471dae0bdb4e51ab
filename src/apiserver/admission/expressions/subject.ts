import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {ObjectForm} from '#src/apiserver/admission/matching/forms.js';
import {reviewOf} from '#src/apiserver/admission/webhook/review.js';

/** A request as expressions see it, in the form in which it was asked for. */
export interface Subject {
  readonly object: KubeObject | null;
  readonly oldObject: KubeObject | null;
  /** All that is told of the request, less the objects, which have names of their own. */
  readonly request: PlainObject;
}

/** What expressions are told of a request: as much as webhooks are. */
export const subjectOf = async (attributes: AdmissionAttributes, form: ObjectForm, own: ObjectForm, naming: Naming): Promise<Subject> => {
  const {uid: _, object, oldObject, ...request} = (await reviewOf(attributes, form, own, {naming, version: 'v1', uid: ''})).request;
  return {object: object as KubeObject | null, oldObject: oldObject as KubeObject | null, request};
};

/** The subject of match conditions: these are told the resource of the request itself, whichever was asked for. */
export const conditionSubject = ({request, ...objects}: Subject): Subject => ({...objects, request: {...request, resource: request['requestResource']}});
