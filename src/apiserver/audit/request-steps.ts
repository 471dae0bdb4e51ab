// The steps of the request core that concern audit: the first event once the user is known, and the last ones with the response.

import type {AuditNotes} from '#src/api/audit.js';
import type {ApiResponse} from '#src/api/request.js';
import {StatusError} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {andThen} from '#src/base/eventually.js';
import {messageOf} from '#src/base/message.js';
import {StoreClosed} from '#src/storage/errors.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import type {Auditor} from './auditor.js';
import type {AuditedRequest, RequestAudit} from './request-audit.js';

/** The audit of one request. */
export interface AuditState {
  /** Whether the user is known, and with it the audit. */
  isIdentified: boolean;
  /** Absent if the policy does not record the request. */
  audit: RequestAudit | undefined;
  notes: AuditNotes | undefined;
}

/** An annotation that is made before the policy is evaluated. */
export type Annotation = readonly [key: string, text: string];

/** Evaluates the policy and generates the first event. Throws 500 if that cannot be recorded and has to be. */
export const beginAudit = (
  auditor: Auditor,
  audited: AuditedRequest,
  {user, annotations, state}: {readonly user: UserInfo; readonly annotations: readonly Annotation[]; readonly state: AuditState},
): void | Promise<void> => {
  state.isIdentified = true;
  const audit = auditor.audit(audited, user);
  if (!audit) return undefined;
  for (const [key, text] of annotations) audit.notes.annotate(key, text);
  return andThen(audit.received(), isTaken => {
    if (!isTaken) {
      auditor.metrics.rejected();
      throw new PlainRefusal(500, `Internal Server Error: ${JSON.stringify(audited.request.url)}: failed to store audit event`);
    }
    state.audit = audit;
    state.notes = audit.notes;
  });
};

/** Generates the events of a response. Returns the response to send. */
export const recorded = (
  auditor: Auditor,
  audited: AuditedRequest,
  {state, response, error}: {readonly state: AuditState | undefined; readonly response: ApiResponse; readonly error: unknown},
): ApiResponse | Promise<ApiResponse> => {
  if (state?.isIdentified) {
    if (!state.audit) return response;
    return error !== undefined && isFault(error) ? state.audit.panicked(response, messageOf(error)) : state.audit.responded(response);
  }
  // A server that is shutting down refuses requests before it looks at them.
  if (error instanceof PlainRefusal) return response;
  return auditor.audit(audited, undefined)?.refused(response) ?? response;
};

/** Whether an error is no refusal, but a failure of the server. */
const isFault = (error: unknown): boolean =>
  !(error instanceof PlainRefusal || error instanceof StatusError || error instanceof StoreClosed);
