import {plainFailure} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Definition} from '#src/resources/apiextensions/types.js';
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

/** Only what is of a version of the definition can be converted, be that served or not. Throws in the original's words. */
const withinVersions = (conversion: Conversion, {spec}: Definition): Conversion => {
  const valid = new Set(spec.versions.map(({name}) => `${spec.group}/${name}`));
  return {
    convert(objects, apiVersion) {
      if (!valid.has(apiVersion)) throw plainFailure(`request to convert CR to an invalid group/version: ${apiVersion}`);
      const stranger = objects.find(object => !valid.has(object.apiVersion ?? ''));
      if (stranger) throw plainFailure(`request to convert CR from an invalid group/version: ${stranger.apiVersion ?? ''}`);
      return conversion.convert(objects, apiVersion);
    },
  };
};

/** Makes the ways that definitions ask for: their versions differ in name alone, or a webhook knows how they differ. */
export const conversions =
  (byWebhook: (definition: Definition) => Conversion) =>
  (definition: Definition): Conversion =>
    withinVersions(definition.spec.conversion?.strategy === 'Webhook' ? byWebhook(definition) : renaming, definition);
