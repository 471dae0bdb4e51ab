import {formatDuration} from '#src/api/duration.js';
import {invalid, required, type FieldError} from '#src/api/field-error.js';
import type {ImagePolicySettings} from '#src/apiserver/admission/pods/image-policy.js';
import {parseConfiguration} from '#src/apiserver/configuration/document.js';
import {flag, long, record, text} from '#src/apiserver/configuration/fields.js';
import {decodeParsed} from '#src/schema/decode/decode.js';
import type {Read} from './read.js';

interface File {
  readonly imagePolicy?: {
    readonly kubeConfigFile?: string;
    readonly allowTTL?: number;
    readonly denyTTL?: number;
    readonly retryBackoff?: number;
    readonly defaultAllow?: boolean;
  };
}

const field = 'imagePolicy';
const fields = record({
  [field]: record({kubeConfigFile: text, allowTTL: long, denyTTL: long, retryBackoff: long, defaultAllow: flag}),
});

interface Range {
  readonly unitMs: number;
  readonly least: number;
  /** The least value as it is shown. */
  readonly leastText: string;
  readonly most: number;
  readonly otherwise: number;
}

const ttl = {unitMs: 1000, least: 1000, leastText: '1s', most: 1_800_000};
const ranges = {
  allowTTL: {...ttl, otherwise: 300_000},
  denyTTL: {...ttl, otherwise: 30_000},
  retryBackoff: {unitMs: 1, least: 1e-6, leastText: '1ns', most: 300_000, otherwise: 500},
} satisfies Record<string, Range>;

/**
 * Reads the configuration of the plugin, a file without a kind. 0 stands for the default of a duration, -1 for none.
 */
export const readImagePolicy = (source: string): Read<ImagePolicySettings> => {
  const {object} = decodeParsed<File>(parseConfiguration(source), fields, 'Ignore');
  const {kubeConfigFile = '', defaultAllow = false, ...durations} = object[field] ?? {};
  const errors: FieldError[] = [];
  if (!kubeConfigFile) errors.push(required(`${field}.kubeConfigFile`));
  const duration = (name: keyof typeof ranges): number => {
    const {unitMs, least, leastText, most, otherwise} = ranges[name];
    const value = Number(durations[name] ?? 0);
    if (value === 0) return otherwise;
    if (value === -1) return 0;
    const ms = value * unitMs;
    if (ms < least || ms > most)
      errors.push(
        invalid(`${field}.${name}`, value, `valid value is between ${leastText} and ${formatDuration(most)}, got ${formatDuration(ms)}`),
      );
    return ms;
  };
  return {
    value: {
      kubeConfigFile,
      allowTtlMs: duration('allowTTL'),
      denyTtlMs: duration('denyTTL'),
      retryBackoffMs: duration('retryBackoff'),
      defaultAllow,
    },
    errors,
  };
};
