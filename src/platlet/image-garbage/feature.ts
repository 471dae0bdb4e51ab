import type {AgentFeature} from '#src/platlet/feature/feature.js';

/** Removes unused images. */
export const imageGarbage: AgentFeature = {
  name: 'image garbage collector',
  start: ({reclaim}) => reclaim.images.start(),
};
