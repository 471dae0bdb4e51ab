import type {Manifest} from './read.js';

/** Whether several manifests are given. */
export const isManifestList = (manifests: Manifest | readonly Manifest[]): manifests is readonly Manifest[] => Array.isArray(manifests);
