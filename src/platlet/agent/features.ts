// The features of an agent besides running pods.

import type {AgentFeature, FeatureContext} from '#src/platlet/feature/feature.js';
import {eviction} from '#src/platlet/eviction-manager/feature.js';
import {imageGarbage} from '#src/platlet/image-garbage/feature.js';
import {logRotation} from '#src/platlet/log-rotation/feature.js';
import {oomWatch} from '#src/platlet/oom-watch/feature.js';
import {containerizedMounter} from '#src/platlet/mounter/feature.js';
import {utilityChains} from '#src/platlet/utility-chains/feature.js';
import {gracefulShutdown} from '#src/platlet/shutdown/feature.js';
import {systemCgroups} from '#src/platlet/system-cgroups/feature.js';

/** The features, in the order in which they start. */
export const features: readonly AgentFeature[] = [
  systemCgroups,
  containerizedMounter,
  imageGarbage,
  eviction,
  logRotation,
  oomWatch,
  gracefulShutdown,
  utilityChains,
];

/** Starts the features. A feature that fails to start is logged. */
export const startFeatures = async (context: FeatureContext, all: readonly AgentFeature[] = features): Promise<void> => {
  for (const feature of all) {
    try {
      await feature.start(context);
    } catch (error) {
      context.log.error({err: error}, `failed to start the ${feature.name}`);
    }
  }
};
