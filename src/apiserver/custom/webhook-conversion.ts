import {jsonText} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import {bytesOfWeight, weightLeft} from '#src/base/json/json-weight.js';
import {Yielder} from '#src/base/turn.js';
import type {Naming} from '#src/api/naming.js';
import {plainFailure, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {WebhookCaller, WebhookLocation} from '#src/apiserver/backends/webhook-caller.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {beyondRange} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {checkIdentity, restoreMetadata} from './converted-object.js';
import type {Conversion} from './conversion.js';
import type {ConversionFault, ConversionMetrics} from './conversion-metrics.js';
import {objectsOf, reviewRequest, readResponse, reviewVersion, type ReviewRequest} from './conversion-review.js';

export interface WebhookConversionParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly caller: WebhookCaller;
  readonly metrics: ConversionMetrics;
}

/** The time limit of one call. */
const timeoutMs = 30_000;
/** The number of objects per call: the size of a page that clients request. */
const maxObjects = 500;
/** The weight of the objects of a call, unless there is just one: that of 8 MiB of text. */
const maxCallWeight = (8 * 1024 * 1024) / bytesOfWeight;
/** The limits of a response: twice what a call contains, or many times the largest object. */
const maxResponseBytes = 16 * 1024 * 1024;
const maxResponseValues = 1_000_000;

const limits = {timeoutMs, maxBytes: maxResponseBytes, maxValues: maxResponseValues} as const;

/** An error with its cause. */
class Fault extends Error {
  readonly fault: ConversionFault;

  constructor(fault: ConversionFault, message: string, cause?: unknown) {
    super(message, {cause});
    this.fault = fault;
  }
}

const versionOf = (apiVersion = ''): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

const locationOf = ({spec}: Definition): WebhookLocation => {
  const {url, service, caBundle} = spec.conversion?.webhook?.clientConfig ?? {};
  // White space alone counts as empty.
  const isBlank = caBundle !== undefined && Buffer.from(caBundle, 'base64').toString().trim() === '';
  return {url, service, caBundle: isBlank ? undefined : caBundle};
};

/** The conversion by the webhook of a definition. Objects that already have the version are not sent. */
export const webhookConversion = (definition: Definition, {naming, clock, random, caller, metrics}: WebhookConversionParts): Conversion => {
  const location = locationOf(definition);
  const accepted = definition.spec.conversion?.webhook?.conversionReviewVersions ?? [];
  const {name = ''} = definition.metadata ?? {};
  const pieces = new Yielder(clock);

  const callWebhook = async (objects: readonly KubeObject[], apiVersion: string): Promise<readonly unknown[]> => {
    const request: ReviewRequest = {naming, version: reviewVersion(accepted), uid: random.uuid()};
    let received;
    try {
      received = readResponse(await caller.call(location, reviewRequest(objects, apiVersion, request), limits), request);
    } catch (cause) {
      throw new Fault('call', `failed: ${(cause as Error).message}`, cause);
    }
    try {
      return objectsOf(received, request);
    } catch (cause) {
      throw new Fault('malformed_response', `failed: ${(cause as Error).message}`, cause);
    }
  };

  /** Converts objects that do not have the version yet, by one call. */
  const convertPart = async (originals: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> => {
    const startedAt = clock.monotonic();
    const [first] = originals;
    const from = versionOf(first!.apiVersion);
    try {
      const answered = await callWebhook(originals.map(withoutRevision), apiVersion);
      if (answered.length !== originals.length)
        throw new Fault('partial_response', `returned ${answered.length} objects, expected ${originals.length}`);
      const converted: KubeObject[] = [];
      for (const [index, value] of answered.entries()) {
        converted.push(accept(originals[index]!, value, apiVersion, {index, isAlone: originals.length === 1}));
        const pause = pieces.pause();
        if (pause) await pause;
      }
      metrics.called(startedAt);
      metrics.converted(name, from, versionOf(apiVersion), startedAt, true);
      return converted;
    } catch (cause) {
      if (cause instanceof Fault) metrics.called(startedAt, cause.fault);
      metrics.converted(name, from, versionOf(apiVersion), startedAt, false);
      throw cause instanceof StatusError
        ? cause
        : plainFailure(
            cause instanceof Fault
              ? `conversion webhook for ${first!.apiVersion}, Kind=${first!.kind} ${cause.message}`
              : (cause as Error).message,
            cause,
          );
    }
  };

  /** Returns the indexes of the objects of the next call. */
  const nextPart = async (objects: readonly KubeObject[], others: readonly number[], from: number): Promise<readonly number[]> => {
    let to = from;
    for (let weight = maxCallWeight; to < others.length && to - from < maxObjects; to++) {
      weight = weightLeft(objects[others[to]!], weight);
      if (weight < 0 && to > from) break;
      const pause = pieces.pause();
      if (pause) await pause;
    }
    return others.slice(from, to);
  };

  return {
    async convert(objects, apiVersion) {
      const result = [...objects];
      const others = [...objects.keys()].filter(index => objects[index]!.apiVersion !== apiVersion);
      for (let at = 0; at < others.length;) {
        const part = await nextPart(objects, others, at);
        at += part.length;
        const converted = await convertPart(
          part.map(index => objects[index]!),
          apiVersion,
        );
        for (const [i, index] of part.entries()) result[index] = converted[i]!;
      }
      return result;
    },
  };
};

const withoutRevision = ({metadata = {}, ...object}: KubeObject): KubeObject => {
  const {resourceVersion: _, ...rest} = metadata;
  return {...object, metadata: rest};
};

/** Accepts a converted object from a webhook. Throws an error that describes what is wrong with it. */
const accept = (
  original: KubeObject,
  value: unknown,
  apiVersion: string,
  {index, isAlone}: {readonly index: number; readonly isAlone: boolean},
): KubeObject => {
  const invalid = (what: string, why: string, cause?: unknown) =>
    new Fault('invalid_converted_object', `returned invalid ${what}: ${why}`, cause);
  const object = isAlone ? `object at index ${index}` : `converted object at index ${index}`;
  const problem = formProblem(value);
  if (problem !== undefined) throw invalid(object, problem);
  const converted = value as PlainObject & KubeObject;
  const {apiVersion: actual = '', kind = ''} = converted;
  if (actual !== apiVersion) throw invalid(object, `invalid groupVersion (expected ${apiVersion}, received ${actual})`);
  if (kind !== original.kind) throw invalid(object, `invalid kind (expected ${original.kind}, received ${kind})`);
  try {
    checkIdentity(original as PlainObject, converted);
  } catch (cause) {
    throw invalid(isAlone ? 'object' : object, (cause as Error).message, cause);
  }
  try {
    restoreMetadata(original, converted);
  } catch (cause) {
    throw invalid(isAlone ? 'metadata' : `metadata in object at index ${index}`, (cause as Error).message, cause);
  }
  return converted;
};

/** An error shows values up to this weight: that of a MiB of text. */
const maxShownWeight = (1024 * 1024) / bytesOfWeight;

/** Why a value is not an object of any kind. */
const formProblem = (value: unknown): string | undefined => {
  if (value === null) return 'unexpected end of JSON input';
  if (!isPlainObject(value))
    return `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct`;
  if (isBeyondRange(value)) return beyondRange().message;
  if (typeof value['kind'] !== 'string' || value['kind'] === '')
    return `Object 'Kind' is missing in '${weightLeft(value, maxShownWeight) < 0 ? '...' : jsonText(value)}'`;
  return undefined;
};
