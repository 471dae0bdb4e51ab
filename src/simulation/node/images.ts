import {fullName, imageBytes, imageId} from '#src/simulation/pod/images.js';
import type {Image} from './node-object.js';

/** A node tells of so many images at most. */
const maxImages = 50;

/** The images on a node. */
export interface Images {
  has(image: string): boolean;
  add(image: string): void;
  /** As the node's status tells them, the biggest first. */
  list(): readonly Image[];
}

/** A node without any image yet. */
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
