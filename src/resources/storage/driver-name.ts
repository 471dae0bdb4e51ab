import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';

const longest = 63;

/** The name of a driver of the container storage interface (CSI, GetPluginInfo). */
export function* validateDriverName(path: string, name: string): Iterable<FieldError> {
  if (!name) return yield required(path);
  if (Buffer.byteLength(name) > longest) yield tooLong(path, longest);
  for (const problem of dnsSubdomainProblems(name.toLowerCase())) yield invalid(path, name, problem);
}
