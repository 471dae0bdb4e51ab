import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems, patternText} from '#src/api/names.js';

const httpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const isHttpPath = new RegExp(`^${httpPath}$`);

/** Validates a domain, a slash and a path. */
export function* validateDomainPath(path: string, text: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  const slash = text.indexOf('/');
  const [domain, rest] = slash < 0 ? ['', ''] : [text.slice(0, slash), text.slice(slash + 1)];
  if (!domain || !rest) return yield invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")');
  for (const problem of dnsSubdomainProblems(domain)) yield invalid(path, domain, problem);
  if (!isHttpPath.test(rest)) yield invalid(path, rest, patternText('Invalid path', httpPath));
}

/** Validates a domain name of at least three parts. */
export function* validateFullName(path: string, text: string): Iterable<FieldError> {
  if (!text) return yield required(path);
  const problems = dnsSubdomainProblems(text);
  if (problems.length > 0) return yield invalid(path, text, problems.join(','));
  if (text.split('.').length < 3) yield invalid(path, text, 'should be a domain with at least three segments separated by dots');
}
