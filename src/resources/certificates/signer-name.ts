import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems, dnsSubdomainProblems} from '#src/api/names.js';

const longestDomain = 253;
/** Domain, slash, and a path with a namespace, a dot and a name. */
const longestName = longestDomain + 1 + 63 + 1 + 253;

/** Reports the first invalid label only; the others would repeat the error. */
function* validatePieces(path: string, part: string, problems: (text: string) => readonly string[]): Iterable<FieldError> {
  const bad = part.split('.').find(piece => problems(piece).length > 0);
  if (bad === undefined) return;
  for (const problem of problems(bad)) yield invalid(path, part, `validating label ${JSON.stringify(bad)}: ${problem}`);
}

/** Validates that a signer's name has the form `domain/path`. */
export function* validateSignerName(path: string, name: string | undefined): Iterable<FieldError> {
  if (!name) return yield required(path);
  const [domain, local, ...rest] = name.split('/');
  if (domain === undefined || local === undefined || rest.length > 0) {
    return yield invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  }
  if (Buffer.byteLength(domain) > longestDomain) yield tooLong(path, longestDomain);
  yield* validatePieces(path, domain, dnsLabelProblems);
  if (!domain.includes('.')) yield invalid(path, domain, 'should be a domain with at least two segments separated by dots');
  yield* validatePieces(path, local, dnsSubdomainProblems);
  if (Buffer.byteLength(name) > longestName) yield tooLong(path, longestName);
}
