// Conversion webhooks: each version of a kind is converted to and from one of them, the hub.

import type {Kind} from '#src/api/kinds/index.js';
import {badRequest} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {isPlainObject} from '#src/schema/decode/plain.js';
import type {Webhook} from './admission.js';
import {isRepeatable, type ReceivedReview} from './received-review.js';

/**
 * A version of a kind, and its conversion to and from the hub. Both functions may change the given object or return
 * another one. Integers beyond 2^53 are bigints in it, so that no digit is lost.
 */
export interface VersionConversion {
  // Declared as methods (bivariant), so that a conversion of one type is one of objects.
  toHub(object: KubeObject): KubeObject | void;
  fromHub(object: KubeObject): KubeObject | void;
}

/** The versions of a kind. */
export interface ConversionOptions {
  /** The version that all others are converted to and from, such as `v1`. */
  readonly hub: string;
  /** The other versions by name. */
  readonly versions: Readonly<Record<string, VersionConversion>>;
}

/** A conversion webhook. */
export interface ConversionWebhook extends Webhook {
  readonly type: 'converting';
  /** Converts an object to a version; may return the given object, changed. Throws for unknown versions. */
  convert(object: KubeObject, apiVersion: string): KubeObject;
}

/** The path of conversion webhooks. */
export const conversionPath = '/convert';

const splitVersion = (apiVersion = ''): readonly [group: string, version: string] => {
  const slash = apiVersion.indexOf('/');
  return [apiVersion.slice(0, Math.max(0, slash)), apiVersion.slice(slash + 1)];
};

/** Returns the result of a conversion. Throws if it is not an object: an object without its fields would be stored. */
const resultOf = (convert: (object: KubeObject) => unknown, copy: KubeObject, what: string): KubeObject => {
  const result = convert(copy);
  if (result === undefined) return copy;
  if (!isPlainObject(result) || typeof result['then'] === 'function') throw new Error(`the conversion of ${what} returned no object`);
  return result;
};

/**
 * Converts the versions of a custom kind. `kind` is its handle in any version. The name, the uid and all other metadata
 * but labels and annotations stay as they are.
 *
 *     converting(Backup, {
 *       hub: 'v2',
 *       versions: {
 *         v1: {
 *           toHub: ({spec: {keep, ...spec}, ...rest}: BackupV1) => ({...rest, spec: {...spec, retention: {last: keep}}}),
 *           fromHub: ({spec: {retention, ...spec}, ...rest}: Backup) => ({...rest, spec: {...spec, keep: retention.last}}),
 *         },
 *       },
 *     });
 */
export const converting = <T extends KubeObject>(kind: Kind<T>, {hub, versions}: ConversionOptions): Webhook => {
  const conversionOf = (version: string): VersionConversion => {
    const found = Object.hasOwn(versions, version) ? versions[version] : undefined;
    if (!found) throw new Error(`there is no conversion of version ${version} of ${kind.kind}`);
    return found;
  };
  const webhook: ConversionWebhook = {
    type: 'converting',
    kind: kind as Kind,
    convert(object, apiVersion) {
      const {kind: ownKind} = object;
      const [, from] = splitVersion(object.apiVersion);
      const [group, to] = splitVersion(apiVersion);
      const {labels: _, annotations: __, ...kept} = structuredClone(object.metadata ?? {});
      let converted = object;
      if (from !== to && from !== hub) {
        const conversion = conversionOf(from);
        const copy = {...converted, apiVersion: `${group}/${hub}`};
        converted = resultOf(given => conversion.toHub(given), copy, `${kind.kind} from ${from} to ${hub}`);
      }
      if (from !== to && to !== hub) {
        const conversion = conversionOf(to);
        converted = resultOf(given => conversion.fromHub(given), {...converted, apiVersion}, `${kind.kind} from ${hub} to ${to}`);
      }
      const {labels, annotations} = converted.metadata ?? {};
      const metadata = {...kept, ...(labels ? {labels} : {}), ...(annotations ? {annotations} : {})};
      return {...converted, apiVersion, kind: ownKind ?? kind.kind, metadata};
    },
  };
  return webhook;
};

/** The ConversionReview that the API server sends. */
interface ConversionReview extends KubeObject {
  readonly request?: {readonly uid?: string; readonly desiredAPIVersion?: string; readonly objects?: readonly KubeObject[]};
}

/** The maximum length of an error in a response. */
const maxMessage = 4096;

/**
 * Answers a review, yielding between objects. A failed conversion fails the review with its message. Throws a
 * `StatusError` for an invalid body.
 */
export const answerConversion = async (
  webhooks: readonly ConversionWebhook[],
  received: ReceivedReview,
): Promise<{readonly review: object; readonly error?: unknown}> => {
  const {apiVersion, kind, request} = ((await received.parseExactly()) ?? {}) as ConversionReview;
  const {uid, desiredAPIVersion, objects} = request ?? {};
  if (kind !== 'ConversionReview' || ![apiVersion, uid, desiredAPIVersion].every(isRepeatable) || !Array.isArray(objects))
    throw badRequest('the body is not a ConversionReview with a request');
  const [group] = splitVersion(desiredAPIVersion);
  try {
    const convertedObjects: KubeObject[] = [];
    for (const object of objects) {
      const webhook = webhooks.find(each => each.kind.group === group && each.kind.kind === object.kind);
      if (!webhook) throw new Error(`there is no conversion of ${object.kind} in the group ${group}`);
      convertedObjects.push(webhook.convert(object, desiredAPIVersion!));
      const pause = received.pause();
      if (pause) await pause;
    }
    return {review: {apiVersion, kind, response: {uid, convertedObjects, result: {status: 'Success'}}}};
  } catch (error) {
    const message = messageOf(error).slice(0, maxMessage);
    return {error, review: {apiVersion, kind, response: {uid, convertedObjects: [], result: {status: 'Failure', message}}}};
  }
};
