import type {Eventually} from '#src/base/eventually.js';
import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Definition} from '#src/resources/apiextensions/types.js';

/** The conversion between the versions of a custom resource. */
export interface Conversion {
  /**
   * Converts objects of any versions to one version; the objects passed in may be modified. Rejects with the Status of
   * a failure.
   */
  convert(objects: readonly KubeObject[], apiVersion: string): Eventually<readonly KubeObject[]>;
}

/** For versions that differ only in name. */
export const renaming: Conversion = {
  convert(objects, apiVersion) {
    for (const object of objects) object.apiVersion = apiVersion;
    return objects;
  },
};

/** Allows only versions of the definition, served or not. Throws as upstream words it. */
const withinVersions = (conversion: Conversion, {spec}: Definition): Conversion => {
  const valid = new Set(spec.versions.map(({name}) => `${spec.group}/${name}`));
  return {
    convert(objects, apiVersion) {
      if (!valid.has(apiVersion)) throw plainFailure(`request to convert CR to an invalid group/version: ${apiVersion}`);
      const unknownObject = objects.find(object => !valid.has(object.apiVersion ?? ''));
      if (unknownObject) throw plainFailure(`request to convert CR from an invalid group/version: ${unknownObject.apiVersion ?? ''}`);
      return conversion.convert(objects, apiVersion);
    },
  };
};

/** Returns the conversion that a definition specifies: renaming, or a webhook. */
export const conversions =
  (byWebhook: (definition: Definition) => Conversion) =>
  (definition: Definition): Conversion =>
    withinVersions(definition.spec.conversion?.strategy === 'Webhook' ? byWebhook(definition) : renaming, definition);
