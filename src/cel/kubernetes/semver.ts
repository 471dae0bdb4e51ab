import {declare, member, overload, type Library} from '#src/cel/check/declarations.js';
import {bool, int, objectType, string, type Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values/values.js';

const semverType = objectType('kubernetes.Semver');

class Semver extends OpaqueValue {
  readonly type: Type = semverType;
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly pre: readonly (bigint | string)[];

  constructor(numbers: Semver['numbers'], pre: Semver['pre']) {
    super();
    this.numbers = numbers;
    this.pre = pre;
  }

  equals(other: Value): Value {
    return other instanceof Semver ? compare(this, other) === 0 : noSuchOverload;
  }
}

const ordered = <T extends bigint | string>(left: T, right: T): number => (left < right ? -1 : left > right ? 1 : 0);

/** Numeric identifiers precede alphanumeric ones. */
const comparePre = (left: bigint | string, right: bigint | string): number => {
  if (typeof left === typeof right) return ordered(left, right);
  return typeof left === 'bigint' ? -1 : 1;
};

const compare = (left: Semver, right: Semver): number => {
  for (const [index, number] of left.numbers.entries()) {
    const order = ordered(number, right.numbers[index]!);
    if (order !== 0) return order;
  }
  if (left.pre.length === 0 || right.pre.length === 0) return Math.sign(right.pre.length - left.pre.length);
  for (const [index, part] of left.pre.entries()) {
    const other = right.pre[index];
    if (other === undefined) return 1;
    const order = comparePre(part, other);
    if (order !== 0) return order;
  }
  return left.pre.length < right.pre.length ? -1 : 0;
};

class SemverError extends Error {}

const quoted = JSON.stringify;
const isNumeric = (text: string): boolean => /^\d*$/.test(text);
const hasLeadingZero = (text: string): boolean => text.length > 1 && text.startsWith('0');

const parsedNumber = (text: string): bigint => {
  if (text === '') throw new SemverError('strconv.ParseUint: parsing "": invalid syntax');
  // Longer texts are out of range in any case.
  const value = text.length > 20 ? 2n ** 64n : BigInt(text);
  if (value >= 2n ** 64n) throw new SemverError(`strconv.ParseUint: parsing ${quoted(text)}: value out of range`);
  return value;
};

const versionNumber = (name: string, text: string): bigint => {
  if (!isNumeric(text)) throw new SemverError(`Invalid character(s) found in ${name} number ${quoted(text)}`);
  if (hasLeadingZero(text))
    throw new SemverError(`${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes ${quoted(text)}`);
  return parsedNumber(text);
};

const word = /^[0-9A-Za-z-]*$/;

const preRelease = (text: string): bigint | string => {
  if (text === '') throw new SemverError('Prerelease is empty');
  if (isNumeric(text)) {
    if (hasLeadingZero(text)) throw new SemverError(`Numeric PreRelease version must not contain leading zeroes ${quoted(text)}`);
    return parsedNumber(text);
  }
  if (!word.test(text)) throw new SemverError(`Invalid character(s) found in prerelease ${quoted(text)}`);
  return text;
};

const checkBuild = (text: string): void => {
  if (text === '') throw new SemverError('Build meta data is empty');
  if (!word.test(text)) throw new SemverError(`Invalid character(s) found in build meta data ${quoted(text)}`);
};

const cut = (text: string, mark: string): readonly [before: string, behind: string | undefined] => {
  const at = text.indexOf(mark);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
};

/** Splits a text at its first two dots. */
const parts = (text: string): string[] => {
  const [major, behind] = cut(text, '.');
  if (behind === undefined) return [major];
  const [minor, rest] = cut(behind, '.');
  return rest === undefined ? [major, minor] : [major, minor, rest];
};

const parse = (text: string): Semver => {
  if (text === '') throw new SemverError('Version string empty');
  const [majorText, minorText, rest] = parts(text);
  if (rest === undefined) throw new SemverError('No Major.Minor.Patch elements found');
  const major = versionNumber('major', majorText!);
  const minor = versionNumber('minor', minorText!);
  const [front, build] = cut(rest, '+');
  const [patchText, pre] = cut(front, '-');
  const patch = versionNumber('patch', patchText);
  const prereleases = pre === undefined ? [] : pre.split('.').map(preRelease);
  for (const one of build === undefined ? [] : build.split('.')) checkBuild(one);
  return new Semver([major, minor, patch], prereleases);
};

const withoutZeros = (text: string): string => {
  if (text.length <= 1) return text;
  const stripped = text.replace(/^0+/, '');
  return /^\d/.test(stripped) ? stripped : `0${stripped}`;
};

/** Normalizes a version: removes a leading `v` and leading zeros, and adds missing numbers. */
const normalized = (text: string): string => {
  const numbers = parts(text.replace(/^v/, '')).map(withoutZeros);
  if (numbers.length < 3 && /[+-]/.test(numbers.at(-1)!)) throw new SemverError('short version cannot contain PreRelease/Build meta data');
  while (numbers.length < 3) numbers.push('0');
  return numbers.join('.');
};

/** Returns the value of a version's text, or a failure. */
export const semverFrom = (text: string, normalizes = false): Value => {
  try {
    return parse(normalizes ? normalized(text) : text);
  } catch (error) {
    if (error instanceof SemverError) return new Failure(error.message);
    throw error;
  }
};

const isSemver = (text: string, normalizes = false): boolean => semverFrom(text, normalizes) instanceof Semver;

const two = [semverType, semverType];
const number = (name: string, index: 0 | 1 | 2) =>
  declare(
    name,
    member(`semver_${name}`, [semverType], int, ({numbers}: Semver) => BigInt.asIntN(64, numbers[index])),
  );

/** The semantic version library (semver.org). */
export const semvers: Library = {
  name: 'kubernetes.Semver',
  functions: [
    declare(
      'semver',
      overload('string_to_semver', [string], semverType, (text: string) => semverFrom(text)),
      overload('string_bool_to_semver', [string, bool], semverType, semverFrom),
    ),
    declare(
      'isSemver',
      overload('is_semver_string', [string], bool, (text: string) => isSemver(text)),
      overload('is_semver_string_bool', [string, bool], bool, isSemver),
    ),
    declare(
      'isGreaterThan',
      member('semver_is_greater_than', two, bool, (left: Semver, right: Semver) => compare(left, right) > 0),
    ),
    declare(
      'isLessThan',
      member('semver_is_less_than', two, bool, (left: Semver, right: Semver) => compare(left, right) < 0),
    ),
    declare(
      'compareTo',
      member('semver_compare_to', two, int, (left: Semver, right: Semver) => BigInt(compare(left, right))),
    ),
    number('major', 0),
    number('minor', 1),
    number('patch', 2),
  ],
};
