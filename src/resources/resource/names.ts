// The name rules of dynamic resource allocation: drivers, pools, attributes, classes and UIDs.

import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems, patternText} from '#src/api/names.js';
import {dnsSubdomain} from '#src/resources/validation/values.js';
import {csiDriverName} from '#src/resources/validation/volume-sources.js';

const longestPool = 253;
const longestIdentifier = 32;
/** The domain of a driver, a slash and an identifier. */
export const longestQualifiedName = 63 + 1 + longestIdentifier;

/** Device drivers have the same name rules as CSI drivers. */
export const driverName = csiDriverName;

/** Validates a pool name: domain names separated by slashes. */
export function* poolName(path: string, name: string): Iterable<FieldError> {
  if (!name) return yield required(path);
  if (Buffer.byteLength(name) > longestPool) yield tooLong(path, longestPool);
  for (const part of name.split('/')) for (const problem of dnsSubdomainProblems(part)) yield invalid(path, part, problem);
}

const identifier = '[A-Za-z_][A-Za-z0-9_]*';
const isIdentifier = new RegExp(`^${identifier}$`);
const identifierProblem = patternText(
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  identifier,
  'my_name',
  'MY_NAME',
  'MyName',
);

function* identifierName(path: string, text: string): Iterable<FieldError> {
  if (Buffer.byteLength(text) > longestIdentifier) yield tooLong(path, longestIdentifier);
  if (!isIdentifier.test(text)) yield invalid(path, text, identifierProblem);
}

/** Validates the name of an attribute or capacity: an identifier, with a domain unless it is the driver's. */
export function* qualifiedName(path: string, text: string): Iterable<FieldError> {
  const [first = '', second, ...rest] = text.split('/');
  if (second === undefined) return yield* identifierName(path, first);
  if (rest.length > 0) return;
  if (first) yield* driverName(path, first);
  else yield invalid(path, '', 'the domain must not be empty');
  if (second) yield* identifierName(path, second);
  else yield invalid(path, '', 'the name must not be empty');
}

export function* fullyQualifiedName(path: string, text: string): Iterable<FieldError> {
  yield* qualifiedName(path, text);
  if (!text.includes('/')) yield invalid(path, text, 'a fully qualified name must be a domain and a name separated by a slash');
}

const isUid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const hex = /^[0-9a-f]{32}$/i;
const parts = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Returns why a text is not a UUID in one of the accepted forms: plain, with a prefix, in braces, without dashes. */
const uidProblem = (text: string): string | undefined => {
  const malformed = 'invalid UUID format';
  switch (text.length) {
    case 32:
      return hex.test(text) ? undefined : malformed;
    case 36:
      return parts.test(text) ? undefined : malformed;
    case 38:
      if (!text.startsWith('{') || !text.endsWith('}')) return 'invalid bracketed UUID format';
      return parts.test(text.slice(1, -1)) ? undefined : malformed;
    case 45:
      if (text.slice(0, 9).toLowerCase() !== 'urn:uuid:') return `invalid urn prefix: ${JSON.stringify(text.slice(0, 9))}`;
      return parts.test(text.slice(9)) ? undefined : malformed;
    default:
      return `invalid UUID length: ${text.length}`;
  }
};

export function* uid(path: string, text: string): Iterable<FieldError> {
  const problem = uidProblem(text);
  if (problem !== undefined) yield invalid(path, text, `error validating uid: ${problem}`);
  else if (!isUid.test(text))
    yield invalid(
      path,
      text,
      'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters',
    );
}

export function* className(path: string, text: string): Iterable<FieldError> {
  if (text) yield* dnsSubdomain(path, text);
  else yield required(path);
}
