import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {annotationsLimit} from '#src/resources/validation/object-meta.js';
import {each} from '#src/resources/validation/values.js';

function* domainKey(path: string, key: string): Iterable<FieldError> {
  if (!key) return yield required(path);
  const problems = labelKeyProblems(key);
  yield* each(path, key, problems);
  if (problems.length === 0 && !key.includes('/')) yield invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")');
}

/** Validates the annotations that users pass to the signer of a pod's certificate: all keys have a domain. */
export function* validateUserAnnotations(annotations: Readonly<Record<string, string>>, path: string): Iterable<FieldError> {
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    yield* domainKey(path, key.toLowerCase());
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > annotationsLimit) yield tooLong(path, annotationsLimit);
}

const hour = 3600;
const day = 24 * hour;

/**
 * Returns the allowed lifetime of a pod's certificate in seconds: at most a day for built-in signers, 91 days for
 * others.
 */
export const certificateLife = (signer: string, naming: Naming): {readonly least: number; readonly most: number} => {
  const own = naming.key('').slice(0, -1);
  const host = signer.split('/')[0] ?? '';
  return {least: hour, most: host === own || host.endsWith(`.${own}`) ? day : 91 * day};
};
