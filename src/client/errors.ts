import {type Status, type StatusCause, StatusError} from '#src/api/status.js';
import type {Call, Reply} from './caller.js';

/** Reason and message where the server sent no `Status`, by code (client-go's words, which people search for). */
const generic: Readonly<Record<number, readonly [reason: string, message: string]>> = {
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
const spoken: Readonly<Record<number, string>> = {403: 'Forbidden', 406: 'NotAcceptable', 415: 'UnsupportedMediaType'};

const longestBody = 2048;

/** The error a refusal stands for: the server's own `Status`, or one made up from the code when a proxy or a plain handler answered. */
export const refusal = (reply: Reply, call: Call): StatusError => (isStatus(reply.body) ? new StatusError(reply.body) : new StatusError(genericStatus(reply, call)));

/** Whether a body is a failure told by an API server. */
export const isStatus = (body: unknown): body is Status =>
  typeof body === 'object' && body !== null && (body as Status).kind === 'Status' && (body as Status).status !== 'Success';

const genericStatus = (reply: Reply, call: Call): Status => {
  const text = textOf(reply.body);
  const {reason, message} = words(reply.status, call.method, text);
  const {about} = call;
  const retryAfterSeconds = Number(reply.header('retry-after') ?? 0) || 0;
  const causes: StatusCause[] = [{reason: 'UnexpectedServerResponse', message: text || 'unknown'}];
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: about ? `${message} (${aboutText(about)})` : message,
    ...(reason ? {reason} : {}),
    details: {
      ...(about?.name ? {name: about.name} : {}),
      ...(about?.group ? {group: about.group} : {}),
      ...(about ? {kind: about.resource} : {}),
      causes,
      ...(retryAfterSeconds ? {retryAfterSeconds} : {}),
    },
    code: reply.status,
  };
};

const aboutText = ({verb, group, resource, name}: NonNullable<Call['about']>): string =>
  [verb, group ? `${resource}.${group}` : resource, ...(name ? [name] : [])].join(' ');

const words = (code: number, method: string, text: string): {reason: string; message: string} => {
  if (code === 409 && method === 'POST') return {reason: 'AlreadyExists', message: generic[409]![1]};
  const known = generic[code];
  if (known) return {reason: known[0], message: known[1]};
  if (spoken[code]) return {reason: spoken[code], message: text || 'unknown'};
  if (code >= 500) return {reason: 'InternalError', message: `an error on the server (${JSON.stringify(text || 'unknown')}) has prevented the request from succeeding`};
  return {reason: '', message: `the server responded with the status code ${code} but did not return more information`};
};

const textOf = (body: unknown): string =>
  (typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)).trim().slice(0, longestBody);
