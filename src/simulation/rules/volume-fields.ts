import {durationRange, fieldsOf, listOf, object, pattern, text, type Fields} from './fields.js';
import {volumeSteps, type VolumeRule} from './volume-rule.js';

/** The match fields of a rule of volumes. */
export const volumeMatchFields = {
  namespaces: listOf(pattern),
  claims: listOf(pattern),
  classes: listOf(pattern),
  nodes: listOf(pattern),
} satisfies Fields;

/** The settings of a rule of volumes: the duration and the error of each step. */
export const volumeSettingFields: Fields = Object.fromEntries(
  volumeSteps.flatMap(step => [
    [`${step}After`, durationRange],
    [`${step}Error`, text],
  ]),
);

export const volumeRule = (value: unknown, at: string): VolumeRule => {
  const {match = {}, ...settings} = fieldsOf({...volumeSettingFields, match: object(volumeMatchFields)}, value, at);
  return {match: match as VolumeRule['match'], settings};
};
