import {genericReasons} from '#src/api/status-of-code.js';
import {StatusError, type Status} from '#src/api/status.js';
import type {CallResult} from '#src/transport/http1/calls.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {jsonExtentInSteps} from '#src/base/json/json-extent.js';
import {pieceBytes} from '#src/base/json/json-steps.js';
import {runStepsYielding, type Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';
import {parseBody, parseJsonBodyInSteps} from '#src/schema/decode/document.js';
import type {YamlReader} from '#src/schema/decode/yaml-reader.js';

/** The length of a response's text that error messages contain. */
const maxShown = 2048;

/** The reasons and messages of status codes that have their own. `{}` is replaced by the server's text. */
const refusals: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  403: ['Forbidden', '{}'],
  406: ['NotAcceptable', 'the server was unable to respond with a content type that the client supports'],
  409: ['AlreadyExists', 'the server reported a conflict'],
  415: ['UnsupportedMediaType', '{}'],
};

const mediaType = (response: CallResult): string => (response.header('content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();

const textOf = (response: CallResult): string => {
  const media = mediaType(response);
  return media === '' || media.startsWith('text/') ? response.body.toString('utf8', 0, maxShown).trim() : 'unknown';
};

/** The error for a response with a failure code and without a Status. */
const refusal = (response: CallResult): StatusError => {
  const {status: code} = response;
  const text = textOf(response);
  const general =
    code >= 500
      ? (['InternalError', `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`] as const)
      : (['', `the server responded with the status code ${code} but did not return more information`] as const);
  const [reason, template] = refusals[code] ?? genericReasons[code] ?? general;
  const message = code === 406 && text && text !== 'unknown' ? text : template === '{}' ? text : template;
  const retryAfter = Number(response.header('retry-after'));
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

/** How responses are parsed. */
export interface Parsing {
  /** A response with more values is refused: its objects would take many times the memory of its text. */
  readonly maxValues: number;
  /** Splits the parsing of long responses. */
  readonly pieces: Yielder;
  readonly yaml: YamlReader;
}

const inSteps = function* (body: Buffer, maxValues: number): Steps<unknown> {
  const {values, depth} = yield* jsonExtentInSteps(body, maxValues);
  if (values > maxValues) throw new Error(`the response has more than ${maxValues} values`);
  return (yield* parseJsonBodyInSteps(body, depth)).value;
};

/** Parses a response as JSON or, by its first character, YAML. */
const parsed = async (body: Buffer, {maxValues, pieces, yaml}: Parsing): Promise<unknown> => {
  const start = body.toString('utf8', 0, maxShown);
  if (body.length <= pieceBytes) return (/^\s*\{/.test(start) ? parseBody(body, 'json') : await yaml.parse(body)).value;
  if (!/^\s*[{["]/.test(start)) throw new Error(`the response has more than ${pieceBytes} bytes and is not JSON`);
  return runStepsYielding(inSteps(body, maxValues), pieces);
};

const isInt32 = (value: unknown): boolean => typeof value === 'number' && (value | 0) === value;

/** The error for a response that is a Status of a failure. */
const statedFailure = (value: unknown): StatusError | undefined =>
  isPlainObject(value) &&
  (value['kind'] ?? 'Status') === 'Status' &&
  (value['apiVersion'] ?? 'v1') === 'v1' &&
  value['status'] === 'Failure' &&
  isInt32(value['code'] ?? 0)
    ? new StatusError({kind: 'Status', apiVersion: 'v1', metadata: {}, ...value} as Status)
    : undefined;

/**
 * Returns the object of a response. Rejects with a `StatusError` for a refusal, with another error for a malformed
 * object or one of too many values.
 */
export const responseObject = async (response: CallResult, parsing: Parsing): Promise<PlainObject> => {
  const {status, body} = response;
  if (status !== 101 && (status < 200 || status > 206)) {
    const isJson = /^\s*\{/.test(body.toString('utf8', 0, maxShown));
    throw (isJson && statedFailure(await parsed(body, parsing).catch(() => undefined))) || refusal(response);
  }
  if (body.length === 0)
    throw new Error(
      `0-length response with status code: ${status} and content type: ${response.header('content-type') || 'application/json'}`,
    );
  const value = await parsed(body, parsing);
  return isPlainObject(value) ? value : {};
};
