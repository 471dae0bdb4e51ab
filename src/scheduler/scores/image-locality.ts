import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {Cluster, Score} from '#src/scheduler/framework/plugin.js';
import {maxNodeScore} from './normalize.js';

const megabyte = 1024 * 1024;
/** Image sizes below the minimum do not count; the maximum per container gives the full score. */
const minThreshold = 23 * megabyte;
const maxContainerThreshold = 1000 * megabyte;

/** Returns the name of an image as nodes report it. */
const normalized = (image: string): string => (image.lastIndexOf(':') <= image.lastIndexOf('/') ? `${image}:latest` : image);

/** Returns the total size of the images that the node has, each scaled by the share of nodes that have it, so that pods do not concentrate on few nodes. */
const sizeOf = (images: readonly string[], node: NodeInfo, {nodes, nodesWithImage}: Cluster): number =>
  images.reduce((sum, image) => {
    const size = node.images.get(image);
    return size === undefined ? sum : sum + Math.trunc(size * (nodesWithImage(image) / nodes.length));
  }, 0);

/** Prefers nodes that have the pod's images. */
export const imageLocality: Score = {
  plugin: 'ImageLocality',
  weight: 1,
  prepare({pod}, feasible, cluster) {
    const containers = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    const volumes = (pod.spec?.volumes ?? []).flatMap(({image}) => (image?.reference ? [image.reference] : []));
    const images = [...containers.map(({image = ''}) => image), ...(cluster.gate('ImageVolume') ? volumes : [])].map(normalized);
    if (!feasible.some(node => images.some(image => node.images.has(image)))) return undefined;
    const maxThreshold = maxContainerThreshold * images.length;
    return {
      score: node =>
        Math.floor(
          (maxNodeScore * (Math.min(Math.max(sizeOf(images, node, cluster), minThreshold), maxThreshold) - minThreshold)) /
            (maxThreshold - minThreshold),
        ),
    };
  },
};
