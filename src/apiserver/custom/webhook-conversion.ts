import {bytesOfWeight, weightLeft} from '#src/base/json/json-weight.js';
import {Yielder} from '#src/base/turn.js';
import type {Naming} from '#src/api/naming.js';
import {plainFailure, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {WebhookCaller, WebhookLocation} from '#src/apiserver/backends/webhook-caller.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
import {accept, Fault} from './accepted-object.js';
import type {Conversion} from './conversion.js';
import type {ConversionMetrics} from './conversion-metrics.js';
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

const versionOf = (apiVersion = ''): string => apiVersion.slice(apiVersion.indexOf('/') + 1);

const locationOf = ({spec}: Definition): WebhookLocation => {
  const {url, service, caBundle} = spec.conversion?.webhook?.clientConfig ?? {};
  // White space alone counts as empty.
  const isBlank = caBundle !== undefined && Buffer.from(caBundle, 'base64').toString().trim() === '';
  return {url, service, caBundle: isBlank ? undefined : caBundle};
};

/** The calls to the webhook of one definition. */
class ConversionCalls {
  readonly #parts: WebhookConversionParts;
  readonly #name: string;
  readonly #location: WebhookLocation;
  readonly #accepted: readonly string[];
  readonly #pieces: Yielder;

  constructor(definition: Definition, parts: WebhookConversionParts) {
    this.#parts = parts;
    this.#name = definition.metadata?.name ?? '';
    this.#location = locationOf(definition);
    this.#accepted = definition.spec.conversion?.webhook?.conversionReviewVersions ?? [];
    this.#pieces = new Yielder(parts.clock);
  }

  /** Returns the indexes of the objects of the next call. */
  async nextPart(objects: readonly KubeObject[], others: readonly number[], from: number): Promise<readonly number[]> {
    let to = from;
    for (let weight = maxCallWeight; to < others.length && to - from < maxObjects; to++) {
      weight = weightLeft(objects[others[to]!], weight);
      if (weight < 0 && to > from) break;
      const pause = this.#pieces.pause();
      if (pause) await pause;
    }
    return others.slice(from, to);
  }

  /** Converts objects that do not have the version yet, by one call. */
  async convertPart(originals: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> {
    const {clock, metrics} = this.#parts;
    const startedAt = clock.monotonic();
    const [first] = originals;
    const from = versionOf(first!.apiVersion);
    try {
      const converted = await this.#acceptAll(originals, await this.#call(originals.map(withoutRevision), apiVersion), apiVersion);
      metrics.called(startedAt);
      metrics.converted(this.#name, from, versionOf(apiVersion), startedAt, true);
      return converted;
    } catch (cause) {
      if (cause instanceof Fault) metrics.called(startedAt, cause.fault);
      metrics.converted(this.#name, from, versionOf(apiVersion), startedAt, false);
      throw failureOf(first!, cause);
    }
  }

  async #call(objects: readonly KubeObject[], apiVersion: string): Promise<readonly unknown[]> {
    const {naming, random, caller} = this.#parts;
    const request: ReviewRequest = {naming, version: reviewVersion(this.#accepted), uid: random.uuid()};
    let received;
    try {
      received = readResponse(await caller.call(this.#location, reviewRequest(objects, apiVersion, request), limits), request);
    } catch (cause) {
      throw new Fault('call', `failed: ${(cause as Error).message}`, cause);
    }
    try {
      return objectsOf(received, request);
    } catch (cause) {
      throw new Fault('malformed_response', `failed: ${(cause as Error).message}`, cause);
    }
  }

  async #acceptAll(originals: readonly KubeObject[], answered: readonly unknown[], apiVersion: string): Promise<KubeObject[]> {
    if (answered.length !== originals.length)
      throw new Fault('partial_response', `returned ${answered.length} objects, expected ${originals.length}`);
    const converted: KubeObject[] = [];
    for (const [index, value] of answered.entries()) {
      converted.push(accept(originals[index]!, value, apiVersion, {index, isAlone: originals.length === 1}));
      const pause = this.#pieces.pause();
      if (pause) await pause;
    }
    return converted;
  }
}

const failureOf = ({apiVersion, kind}: KubeObject, cause: unknown): unknown => {
  if (cause instanceof StatusError) return cause;
  const {message} = cause as Error;
  return plainFailure(cause instanceof Fault ? `conversion webhook for ${apiVersion}, Kind=${kind} ${message}` : message, cause);
};

/** The conversion by the webhook of a definition. Objects that already have the version are not sent. */
export const webhookConversion = (definition: Definition, parts: WebhookConversionParts): Conversion => {
  const calls = new ConversionCalls(definition, parts);
  return {
    async convert(objects, apiVersion) {
      const result = [...objects];
      const others = [...objects.keys()].filter(index => objects[index]!.apiVersion !== apiVersion);
      for (let at = 0; at < others.length;) {
        const part = await calls.nextPart(objects, others, at);
        at += part.length;
        const converted = await calls.convertPart(
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
