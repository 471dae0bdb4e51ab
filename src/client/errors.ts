import {jsonText} from '#src/base/json/json.js';
import {type Status, StatusError} from '#src/api/status.js';
import {statusOfCode} from '#src/api/status-of-code.js';
import type {Call, Reply} from './caller.js';

const longestBody = 2048;

/**
 * The error of a watch that sent something else than an event: what it meant is lost, and sent again it would be the
 * same.
 */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';

  constructor() {
    super('the watch sent an event that cannot be read');
  }
}

/** Returns the error of a response: the server's `Status`, or one derived from the code of a proxy's response. */
export const replyError = (reply: Reply, call: Call): StatusError =>
  isStatus(reply.body) ? new StatusError(reply.body) : new StatusError(genericStatus(reply, call));

/** Returns whether a body is a failure `Status`. */
export const isStatus = (body: unknown): body is Status =>
  typeof body === 'object' && body !== null && (body as Status).kind === 'Status' && (body as Status).status !== 'Success';

const genericStatus = (reply: Reply, {method, subject}: Call): Status =>
  statusOfCode({
    code: reply.status,
    method,
    text: textOf(reply.body),
    subject,
    retryAfterSeconds: Number(reply.header('retry-after') ?? 0) || 0,
    unexpected: true,
  });

const textOf = (body: unknown): string =>
  (typeof body === 'string' ? body : body === undefined ? '' : jsonText(body)).trim().slice(0, longestBody);
