import {genericReasons} from '#src/api/status-of-code.js';
import {StatusError, type Status} from '#src/api/status.js';
import type {CallResult} from '#src/transport/http1/calls.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {parseBody} from '#src/schema/decode/document.js';

/** The length of a response's text that error messages contain. */
const maxShown = 2048;

/** The reasons and messages of status codes that have their own. `{}` is replaced by the server's text. */
const refusals: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  403: ['Forbidden', '{}'],
  406: ['NotAcceptable', 'the server was unable to respond with a content type that the client supports'],
  409: ['AlreadyExists', 'the server reported a conflict'],
  415: ['UnsupportedMediaType', '{}'],
};

const mediaType = (answer: CallResult): string => (answer.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();

const textOf = (answer: CallResult): string => {
  const media = mediaType(answer);
  return media === '' || media.startsWith('text/') ? answer.body.toString('utf8', 0, maxShown).trim() : 'unknown';
};

/** The error for a response with a failure code and without a Status. */
const refusal = (answer: CallResult): StatusError => {
  const {status: code} = answer;
  const text = textOf(answer);
  const general =
    code >= 500
      ? (['InternalError', `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`] as const)
      : (['', `the server responded with the status code ${code} but did not return more information`] as const);
  const [reason, template] = refusals[code] ?? genericReasons[code] ?? general;
  const message = code === 406 && text && text !== 'unknown' ? text : template === '{}' ? text : template;
  const retryAfter = Number(answer.header('retry-after'));
  return new StatusError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    ...(reason ? {reason} : {}),
    details: {causes: [{reason: 'UnexpectedServerResponse', message: text}], ...(retryAfter > 0 ? {retryAfterSeconds: retryAfter} : {})},
    code,
  });
};

/** Parses a response as JSON or, by its first character, YAML. */
const parsed = (body: Buffer): unknown => parseBody(body, /^\s*\{/.test(body.toString('utf8', 0, maxShown)) ? 'json' : 'yaml').value;

/** The error for a Status in the response, if there is one. */
const statedFailure = (body: Buffer): StatusError | undefined => {
  try {
    const value = JSON.parse(body.toString('utf8')) as unknown;
    if (
      !isPlainObject(value) ||
      (value['kind'] ?? 'Status') !== 'Status' ||
      (value['apiVersion'] ?? 'v1') !== 'v1' ||
      value['status'] !== 'Failure'
    )
      return undefined;
    return new StatusError({kind: 'Status', apiVersion: 'v1', metadata: {}, ...value} as Status);
  } catch {
    return undefined;
  }
};

/** Returns the object of a response. Throws a `StatusError` for a refusal, another error for a malformed object. */
export const responseObject = (answer: CallResult): PlainObject => {
  const {status, body} = answer;
  if (status < 200 || status > 206) throw statedFailure(body) ?? refusal(answer);
  if (body.length === 0)
    throw new Error(`0-length response with status code: ${status} and content type: ${answer.header('content-type') ?? ''}`);
  const value = parsed(body);
  if (!isPlainObject(value)) return {};
  const failure = value['kind'] === 'Status' ? statedFailure(body) : undefined;
  if (failure) throw failure;
  return value;
};
