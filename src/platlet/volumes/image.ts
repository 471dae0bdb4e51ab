import type {VolumePlugin} from './plugin.js';

/** Volumes with the files of an image. The image is pulled with those of the containers, and the runtime mounts it. */
export const imageVolume: VolumePlugin = {
  folder: undefined,
  measuredAs: 'image',
  isRefreshed: false,
  supports: ({volume}) => volume.image !== undefined,
  setUp: () => Promise.resolve({path: '', isImage: true, isReadonly: true, measure: () => Promise.resolve(undefined)}),
};
