import {StatusError, type Status} from '#src/api/status.js';
import type {Answer} from '#src/transport/kept-calls.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';

/** How much of an answer's text is told. */
const mostShown = 2048;

/** What clients of the original say of an answer whose code is no success: its reason and words. `{}` stands for what the server said. */
const refusals: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  400: ['BadRequest', 'the server rejected our request for an unknown reason'],
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  403: ['Forbidden', '{}'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  406: ['NotAcceptable', 'the server was unable to respond with a content type that the client supports'],
  409: ['AlreadyExists', 'the server reported a conflict'],
  415: ['UnsupportedMediaType', '{}'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'the server was unable to return a response in the time allotted, but may still be processing the request'],
};

const mediaType = (answer: Answer): string => (answer.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();

const said = (answer: Answer): string => {
  const media = mediaType(answer);
  return media === '' || media.startsWith('text/') ? answer.body.toString('utf8', 0, mostShown).trim() : 'unknown';
};

/** The failure that an answer means whose code is no success, and which is no Status of its own. */
const refusal = (answer: Answer): StatusError => {
  const {status: code} = answer;
  const text = said(answer);
  const general = code >= 500 ? (['InternalError', `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`] as const) : (['', `the server responded with the status code ${code} but did not return more information`] as const);
  const [reason, words] = refusals[code] ?? general;
  const message = code === 406 && text && text !== 'unknown' ? text : words === '{}' ? text : words;
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

const parsed = (body: Buffer): unknown => {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Error(`couldn't get version/kind; json parse error: ${jsonSyntaxProblem(text)}`, {cause});
  }
};

/** A failure that the answer itself states in full. */
const statedFailure = (body: Buffer): StatusError | undefined => {
  try {
    const value = JSON.parse(body.toString('utf8')) as unknown;
    if (!isPlainObject(value) || (value['kind'] ?? 'Status') !== 'Status' || (value['apiVersion'] ?? 'v1') !== 'v1' || value['status'] !== 'Failure') return undefined;
    return new StatusError({kind: 'Status', apiVersion: 'v1', metadata: {}, ...value} as Status);
  } catch {
    return undefined;
  }
};

/** The object of an answer. Throws a `StatusError` for what the server refused, another error for what is no object. */
export const replyObject = (answer: Answer): PlainObject => {
  const {status, body} = answer;
  if (status < 200 || status > 206) throw statedFailure(body) ?? refusal(answer);
  if (body.length === 0) throw new Error(`0-length response with status code: ${status} and content type: ${answer.header('content-type') ?? ''}`);
  const value = parsed(body);
  if (!isPlainObject(value)) throw new Error("couldn't get version/kind; json parse error: json: cannot unmarshal " + (Array.isArray(value) ? 'array' : typeof value) + ' into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }');
  const stated = value['kind'] === 'Status' ? statedFailure(body) : undefined;
  if (stated) throw stated;
  return value;
};
