import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {qualifiedName} from '#src/resources/validation/values.js';

/** The size limit of all parameters of a class, keys and values. */
const largest = 256 * 1024;
const most = 512;

/** Validates driver parameters, whose content only the driver knows. */
export function* validateParameters(parameters: Readonly<Record<string, string>>, mayBeEmpty: boolean): Iterable<FieldError> {
  const entries = Object.entries(parameters);
  if (entries.length > most) return yield tooLong('parameters', most);
  for (const [key] of entries) if (!key) yield invalid('parameters', key, 'field can not be empty.');
  if (entries.reduce((size, [key, value]) => size + Buffer.byteLength(key) + Buffer.byteLength(value), 0) > largest)
    yield tooLong('parameters', largest);
  if (!mayBeEmpty && entries.length === 0) yield required('parameters', 'must contain at least one key/value pair');
}

/** Validates the name of a driver or provisioner, with or without a domain. */
export function* validateProvisioner(path: string, name: string): Iterable<FieldError> {
  if (!name) yield required(path);
  else yield* qualifiedName(path, name.toLowerCase());
}
