import type {FoundResource} from '#controllers/shared/discovery.js';
import {NoSuchKind, type Scale, type Scales} from '#controllers/shared/scale.js';
import type {Frozen} from '#src/api/key.js';
import {messageOf} from '#src/base/message.js';
import {Failed} from './failure.js';
import type {Autoscaler} from './limits.js';

/** The scale of an autoscaler's target, and the resource that it belongs to. */
export interface Target {
  readonly scale: Scale;
  readonly resource: FoundResource;
}

/**
 * Reads the scale of the target, from the first resource of its kind that has one. Rejects with the reason otherwise.
 */
export const readTarget = async (scales: Scales, hpa: Frozen<Autoscaler>): Promise<Target> => {
  const namespace = hpa.metadata?.namespace ?? '';
  const {apiVersion = '', kind, name} = hpa.spec!.scaleTargetRef;
  if (apiVersion.split('/').length > 2)
    throw new Failed(`invalid API version in scale target reference: unexpected GroupVersion string: ${apiVersion}`, 'spec');
  const found = await scales.resourcesOf({apiVersion, kind}).catch((error: unknown) => {
    const cause = error instanceof NoSuchKind ? new Error(error.inGroup, {cause: error}) : error;
    throw new Failed(`unable to determine resource for scale target reference: ${messageOf(cause)}`, 'internal', cause);
  });
  let first: unknown;
  for (const resource of found) {
    try {
      return {scale: await scales.read(namespace, resource, name), resource};
    } catch (error) {
      first ??= error;
    }
  }
  throw new Failed(`failed to query scale subresource for ${kind}/${namespace}/${name}: ${messageOf(first)}`, 'internal', first);
};
