import {formatIp, formatRange, parseIp, parseLooseIp, parseRange, rangeHolds, rangeStart, type IpRange} from '#src/base/ip-address.js';
import {invalid, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';

// Validation of IP addresses and ranges. Fields that predate the strict rules accept ambiguous forms until a gate
// rejects them, and stored values afterwards; newer fields accept the canonical form only.

const notAddress = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const notRange = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

export interface LegacyRules {
  /** Rejects ambiguous forms: leading zeros, IPv4-mapped addresses, bits beyond the prefix (KEP-4858). */
  readonly strict: boolean;
  /** Stored values, which may stay. */
  readonly stored?: readonly string[] | undefined;
}

/** Returns why a text is not an address; by the strict rules, ambiguous forms are rejected as well. */
export const ipProblem = (text: string, strict: boolean): string | undefined => {
  if (!parseIp(text, true)) return notAddress;
  if (!strict) return undefined;
  const address = parseIp(text);
  if (!address) return 'must not have leading 0s';
  return address.mapped ? 'must not be an IPv4-mapped IPv6 address' : undefined;
};

/** Validates an address in a field that predates the strict rules. */
export function* legacyIp(path: string, text: string, {strict, stored}: LegacyRules): Iterable<FieldError> {
  const problem = stored?.includes(text) ? undefined : ipProblem(text, strict);
  if (problem !== undefined) yield invalid(path, text, problem);
}

/** Validates a range in a field that predates the strict rules. */
export function* legacyRange(path: string, text: string, {strict, stored}: LegacyRules): Iterable<FieldError> {
  if (stored?.includes(text)) return;
  if (!parseRange(text, true)) return yield invalid(path, text, notRange);
  if (strict) yield* strictRange(path, text);
}

function* strictRange(path: string, text: string): Iterable<FieldError> {
  const range = parseRange(text);
  if (!range) yield invalid(path, text, 'must not have leading 0s in IP or prefix length');
  else if (range.address.mapped) yield invalid(path, text, 'must not have an IPv4-mapped IPv6 address');
  else if (rangeStart(range).value !== range.address.value) yield invalid(path, text, 'must not have bits set beyond the prefix length');
}

/** Validates that a range is in canonical form. */
export function* canonicalRange(path: string, text: string): Iterable<FieldError> {
  const errors = [...legacyRange(path, text, {strict: true})];
  const canonical = errors.length > 0 ? text : formatRange(parseRange(text)!);
  yield* errors;
  if (canonical !== text) yield invalid(path, text, `must be in canonical form (${JSON.stringify(canonical)})`);
}

/** Returns why a text is not an address in canonical form. */
export const canonicalIpProblem = (text: string): string | undefined => {
  const problem = ipProblem(text, true);
  if (problem !== undefined) return problem;
  const canonical = formatIp(parseIp(text)!);
  return canonical === text ? undefined : `must be in canonical form (${JSON.stringify(canonical)})`;
};

const refusedLater = (naming: Naming): string => `will be considered invalid in a future ${naming.inWords('Kubernetes')} release`;

/** Warns about a deprecated form of an address. */
export function* ipWarnings(path: string, text: string, naming: Naming): Iterable<string> {
  const loose = parseLooseIp(text);
  if (!loose) return;
  const address = parseIp(text);
  if (!address || address.mapped)
    yield `${path}: non-standard IP address ${JSON.stringify(text)} ${refusedLater(naming)}: use ${JSON.stringify(formatIp(loose))}`;
  else if (address.family === 6 && formatIp(address) !== text) {
    yield `${path}: IPv6 address ${JSON.stringify(text)} should be in RFC 5952 canonical format (${JSON.stringify(formatIp(address))})`;
  }
}

/** Warns about a deprecated form of a range. */
export function* rangeWarnings(path: string, text: string, naming: Naming): Iterable<string> {
  const loose = parseRange(text, true);
  if (!loose) return;
  const shown = JSON.stringify(text);
  const canonical = JSON.stringify(formatRange(loose));
  const beyond = rangeStart(loose).value !== loose.address.value;
  const alone = `${formatIp(loose.address)}/${loose.address.family === 4 ? 32 : 128}`;
  if (beyond) yield `${path}: CIDR value ${shown} is ambiguous in this context (should be ${canonical} or ${JSON.stringify(alone)}?)`;
  const range = parseRange(text);
  if (!range || range.address.mapped) yield `${path}: non-standard CIDR value ${shown} ${refusedLater(naming)}: use ${canonical}`;
  else if (!beyond && range.address.family === 6 && JSON.stringify(text) !== canonical) {
    yield `${path}: IPv6 CIDR value ${shown} should be in RFC 5952 canonical format (${canonical})`;
  }
}

const ranges = (...texts: readonly string[]): readonly IpRange[] => texts.map(text => parseRange(text)!);
const unspecified = ranges('0.0.0.0/32', '::/128');
const loopback = ranges('127.0.0.0/8', '::1/128');
const special: readonly [text: string, of: readonly IpRange[]][] = [
  ['may not be in the loopback range (127.0.0.0/8, ::1/128)', loopback],
  ['may not be in the link-local range (169.254.0.0/16, fe80::/10)', ranges('169.254.0.0/16', 'fe80::/10')],
  ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)', ranges('224.0.0.0/24', 'ff02::/16')],
];

/** Rejects unspecified, loopback and link-local addresses. Loopback ones may be allowed. */
export function* endpointIp(path: string, text: string, {allowsLoopback = false} = {}): Iterable<FieldError> {
  const address = parseLooseIp(text);
  if (!address) return yield invalid(path, text, 'must be a valid IP address');
  const within = (some: readonly IpRange[]) => some.some(range => rangeHolds(range, address));
  if (within(unspecified)) yield invalid(path, text, `may not be unspecified (${text})`);
  for (const [problem, some] of special) if (within(some) && !(allowsLoopback && some === loopback)) yield invalid(path, text, problem);
}
