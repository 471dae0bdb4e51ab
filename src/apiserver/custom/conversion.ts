import type {KubeObject} from '#src/api/types.js';
import type {Eventually} from '#src/storage/store.js';

/** The way between the versions of a custom resource. */
export interface Conversion {
  /** The objects, each whatever version it is in, in another version; they are handed over for good. Rejects with the Status of a failure. */
  convert(objects: readonly KubeObject[], apiVersion: string): Eventually<readonly KubeObject[]>;
}

/** Versions that differ in name alone. */
export const renaming: Conversion = {
  convert(objects, apiVersion) {
    for (const object of objects) object.apiVersion = apiVersion;
    return objects;
  },
};
