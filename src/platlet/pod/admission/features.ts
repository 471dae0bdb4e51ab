// Rejections for features that the node or its runtime does not support.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {featuresForScheduling} from '#src/model/pod/required-features.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {Rejection} from './rejection.js';

/** What a node can do. */
export interface NodeFeatures {
  /** Why AppArmor profiles cannot be enforced; undefined if they can. */
  readonly appArmorError?: string;
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** The features declared in the status of the node. */
  readonly declared: readonly string[];
}

const unconfined = 'Unconfined';

const wantsAppArmor = ({spec}: Frozen<Pod>): boolean =>
  [spec?.securityContext, ...[...specContainers(spec!)].map(({container}) => container.securityContext)].some(
    context => context?.appArmorProfile && context.appArmorProfile.type !== unconfined,
  );

export const appArmorRejection = ({appArmorError}: NodeFeatures, pod: Frozen<Pod>): Rejection | undefined =>
  appArmorError !== undefined && wantsAppArmor(pod)
    ? {reason: 'AppArmor', message: `Cannot enforce AppArmor: ${appArmorError}`}
    : undefined;

export const featureRejection = ({podLevelResources, declared}: NodeFeatures, {spec}: Frozen<Pod>): Rejection | undefined => {
  const {requests = {}, limits = {}} = spec?.resources ?? {};
  if (!podLevelResources && Object.keys({...requests, ...limits}).length > 0)
    return {reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled'};
  const missing = featuresForScheduling(spec!).filter(name => !declared.includes(name));
  if (missing.length > 0)
    return {reason: 'PodFeatureUnsupported', message: `Pod requires node features that are not available: ${missing.join(', ')}`};
  return undefined;
};

export const shutdownRejection: Rejection = {reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.'};
