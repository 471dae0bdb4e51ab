import {normalizedImageName} from '#src/scheduler/cache/image-name.js';
import {signsImages} from '#src/scheduler/signatures/plugin-signatures.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

const megabyte = 1024 * 1024;
/** Image sizes below the minimum do not count; the maximum per container gives the full score. */
const minThreshold = 23 * megabyte;
const maxContainerThreshold = 1000 * megabyte;

/** An image, and the share of nodes that have it. */
interface SharedImage {
  readonly name: string;
  readonly share: number;
}

/**
 * Returns the total size of the images that the node has, each scaled by the share of nodes that have it, so that pods
 * do not concentrate on few nodes.
 */
const sizeOf = (images: readonly SharedImage[], node: NodeInfo): number => {
  let sum = 0;
  for (const {name, share} of images) {
    const size = node.images.get(name);
    if (size !== undefined) sum += Math.trunc(size * share);
  }
  return sum;
};

/** Prefers nodes that have the pod's images. */
export const imageLocality: Score = {
  plugin: 'ImageLocality',
  sign: signsImages,
  weight: 1,
  prepare({pod}, feasible, cluster) {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const volumes = (pod.spec?.volumes ?? []).flatMap(({image}) => (image?.reference ? [image.reference] : []));
    const images = [...containers.map(({image = ''}) => image), ...(cluster.gate('ImageVolume') ? volumes : [])].map(normalizedImageName);
    const onNodes = images.map(name => ({name, share: cluster.nodesWithImage(name) / cluster.nodes.length})).filter(({share}) => share > 0);
    if (onNodes.length === 0 || !feasible.some(node => onNodes.some(({name}) => node.images.has(name)))) return undefined;
    const maxThreshold = maxContainerThreshold * images.length;
    return {
      score: node =>
        Math.floor(
          (maxNodeScore * (Math.min(Math.max(sizeOf(onNodes, node), minThreshold), maxThreshold) - minThreshold)) /
            (maxThreshold - minThreshold),
        ),
    };
  },
};
