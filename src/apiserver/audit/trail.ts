import type {AuditNotes} from '#src/api/audit.js';
import type {Decision} from '#src/api/authorization.js';
import type {ApiResponse} from '#src/api/request.js';
import {StatusError} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {andThen, type Eventually} from '#src/base/eventually.js';
import {messageOf} from '#src/base/message.js';
import {StoreClosed} from '#src/storage/errors.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import type {Auditor} from './auditor.js';
import type {AuditedRequest, RequestAudit} from './request-audit.js';

/**
 * What the filters tell the audit log about one request. Once its user is known the policy is evaluated, and `#audit`
 * is set if it records the request. A request whose user never gets known is recorded as refused.
 */
export class AuditTrail {
  readonly #auditor: Auditor;
  readonly #audited: AuditedRequest;
  #isIdentified = false;
  /** Annotations that were made before the policy was evaluated. */
  #early: (readonly [key: string, text: string])[] | undefined;
  #audit: RequestAudit | undefined;

  constructor(auditor: Auditor, {request, info, auditId, times}: AuditedRequest) {
    this.#auditor = auditor;
    this.#audited = {request, info, auditId, times};
  }

  /** Adds an annotation before the user is known. */
  annotate(key: string, text: string): void {
    (this.#early ??= []).push([key, text]);
  }

  /**
   * Evaluates the policy and generates the first event. Returns what takes the notes of handlers, if the request is
   * recorded. Throws 500 if the event cannot be recorded and has to be.
   */
  begin(user: UserInfo): Eventually<AuditNotes | undefined> {
    this.#isIdentified = true;
    const audit = this.#auditor.audit(this.#audited, user);
    if (!audit) return undefined;
    for (const [key, text] of this.#early ?? []) audit.notes.annotate(key, text);
    return andThen(audit.received(), isTaken => {
      if (!isTaken) throw this.#unrecorded();
      this.#audit = audit;
      return audit.notes;
    });
  }

  impersonated(user: UserInfo, constraint?: string): void {
    this.#audit?.impersonated(user, constraint);
  }

  authorized(decision: Decision): void {
    this.#audit?.authorized(decision);
  }

  notAuthorized(): void {
    this.#audit?.notAuthorized();
  }

  /** Generates the events of an answer. Returns the answer with the response to send. */
  finish<Answered extends {readonly response: ApiResponse; readonly error?: unknown}>(answer: Answered): Eventually<Answered> {
    return andThen(this.#recorded(answer), response => (response === answer.response ? answer : {...answer, response}));
  }

  #recorded({response, error}: {readonly response: ApiResponse; readonly error?: unknown}): Eventually<ApiResponse> {
    if (this.#isIdentified) {
      if (!this.#audit) return response;
      return error !== undefined && isFault(error) ? this.#audit.panicked(response, messageOf(error)) : this.#audit.responded(response);
    }
    // A server that is shutting down refuses requests before it looks at them.
    if (error instanceof PlainRefusal) return response;
    return this.#auditor.audit(this.#audited, undefined)?.refused(response) ?? response;
  }

  #unrecorded(): PlainRefusal {
    this.#auditor.metrics.rejected();
    return new PlainRefusal(500, `Internal Server Error: ${JSON.stringify(this.#audited.request.url)}: failed to store audit event`);
  }
}

/** Whether an error is no refusal, but a failure of the server. */
const isFault = (error: unknown): boolean =>
  !(error instanceof PlainRefusal || error instanceof StatusError || error instanceof StoreClosed);
