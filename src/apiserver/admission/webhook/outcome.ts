import {badRequest, StatusError, type Status} from '#src/api/status.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

/** A failed call or an invalid response of a webhook: its failure policy decides. */
export class CallFailed extends Error {
  /** The code for metrics. */
  readonly code: number;
  /** Whether the client aborted the request. */
  readonly isCanceled: boolean;

  constructor(
    hook: string,
    reason: string,
    {code, isCanceled = false, cause}: {readonly code: number; readonly isCanceled?: boolean; readonly cause?: unknown},
  ) {
    super(`failed calling webhook ${JSON.stringify(hook)}: ${reason}`, {cause});
    this.code = code;
    this.isCanceled = isCanceled;
  }
}

/** A webhook denied the request. */
export class Denied extends Error {
  readonly refusal: StatusError;

  constructor(refusal: StatusError) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** The refusal of a webhook's response, which never has the code of a success. */
export const denial = (hook: string, result: PlainObject = {}): Denied => {
  const {code = 0, status = '', message = '', reason = '', ...rest} = result as Partial<Status>;
  const by = `admission webhook ${JSON.stringify(hook)} denied the request`;
  const text = message || reason;
  return new Denied(
    new StatusError({
      metadata: {},
      ...rest,
      kind: 'Status',
      apiVersion: 'v1',
      status: status === '' || status === 'Success' ? 'Failure' : status,
      message: text ? `${by}: ${text}` : `${by} without explanation`,
      ...(reason ? {reason} : {}),
      code: Math.max(code, 400),
    }),
  );
};

export const noDryRun = (hook: string): StatusError => badRequest(`admission webhook ${JSON.stringify(hook)} does not support dry run`);
