import type {Status} from './status.js';

/** Reason and message by code, for responses without a `Status` (client-go's messages). */
export const genericReasons: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  409: ['Conflict', 'the server reported a conflict'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted, but may still be processing the request'],
};

/** Codes whose plain body is the message. */
const reasonsWithText: Readonly<Record<number, string>> = {403: 'Forbidden', 406: 'NotAcceptable', 415: 'UnsupportedMediaType'};

/** A response without a `Status`. */
export interface PlainResponse {
  readonly code: number;
  readonly method: string;
  /** The body text. */
  readonly text: string;
  /** The subject of the request. */
  readonly subject?: {readonly verb: string; readonly group: string; readonly resource: string; readonly name?: string} | undefined;
  readonly retryAfterSeconds?: number;
  /** Whether to add the cause `UnexpectedServerResponse`. */
  readonly unexpected: boolean;
}

/** Returns a `Status` for an error response without one. */
export const statusOfCode = ({code, method, text, subject, retryAfterSeconds = 0, unexpected}: PlainResponse): Status => {
  const {reason, message} = reasonAndMessage(code, method, text);
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: subject ? `${message} (${subjectText(subject)})` : message,
    ...(reason ? {reason} : {}),
    details: {
      ...(subject?.name ? {name: subject.name} : {}),
      ...(subject?.group ? {group: subject.group} : {}),
      ...(subject ? {kind: subject.resource} : {}),
      ...(unexpected ? {causes: [{reason: 'UnexpectedServerResponse', message: text || 'unknown'}]} : {}),
      ...(retryAfterSeconds ? {retryAfterSeconds} : {}),
    },
    code,
  };
};

const subjectText = ({verb, group, resource, name}: NonNullable<PlainResponse['subject']>): string =>
  [verb, group ? `${resource}.${group}` : resource, ...(name ? [name] : [])].join(' ');

const reasonAndMessage = (code: number, method: string, text: string): {reason: string; message: string} => {
  if (code === 409 && method === 'POST') return {reason: 'AlreadyExists', message: genericReasons[409]![1]};
  const known = genericReasons[code];
  if (known) return {reason: known[0], message: known[1]};
  if (reasonsWithText[code]) return {reason: reasonsWithText[code], message: text || 'unknown'};
  if (code >= 500)
    return {
      reason: 'InternalError',
      message: `an error on the server (${JSON.stringify(text || 'unknown')}) has prevented the request from succeeding`,
    };
  return {reason: '', message: `the server responded with the status code ${code} but did not return more information`};
};
