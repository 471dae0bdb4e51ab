import {fullName, imageBytes, imageId} from '#src/simulation/rules/images.js';
import type {Image} from './node-object.js';

/** The maximum number of images in the status of a node. */
const maxImages = 50;

/** The images on a node. */
export interface Images {
  has(image: string): boolean;
  add(image: string): void;
  /** Returns the images for the node's status, the largest first. */
  list(): readonly Image[];
}

/** Returns the images of a new node. */
export const emptyImages = (): Images => {
  const known = new Map<string, Image>();
  let listed: readonly Image[] | undefined;
  return {
    has: image => known.has(fullName(image)),
    add(image) {
      const name = fullName(image);
      if (known.has(name)) return;
      known.set(name, {names: [imageId(image), ...(name.includes('@') ? [] : [name])], sizeBytes: imageBytes(image)});
      listed = undefined;
    },
    list: () => (listed ??= [...known.values()].sort((a, b) => b.sizeBytes - a.sizeBytes).slice(0, maxImages)),
  };
};
