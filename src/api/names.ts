// The forms of names and labels (RFC 1123, RFC 1035; the API reference's "Object Names and IDs" and "Labels and
// Selectors"). Each function returns the upstream messages for an invalid text, and none for a valid one.

import type {Random} from '#src/base/random.js';
import {nameSuffix} from '#src/base/text/name-suffix.js';

/** Returns whether a text has more bytes than that; most are so short that they need not be counted. */
export const exceedsBytes = (text: string, most: number): boolean => 3 * text.length > most && Buffer.byteLength(text) > most;

/** `must be no more than N …`: names count in characters, keys and values of labels in bytes. */
export const tooLongText = (most: number, unit: 'bytes' | 'characters' = 'characters'): string => `must be no more than ${most} ${unit}`;
export const emptyText = 'must be non-empty';

/** Returns a message with the required format, examples and the pattern. */
export const patternText = (message: string, pattern: string, ...examples: readonly string[]): string => {
  const shown = examples.map(example => `'${example}', `).join(' or ');
  return examples.length > 0
    ? `${message} (e.g. ${shown}regex used for validation is '${pattern}')`
    : `${message} (regex used for validation is '${pattern}')`;
};

const exactly = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);

const label1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const labelKey = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${labelKey})?`;

const isLabel1123 = exactly(label1123);
const isLabel1035 = exactly(label1035);
const isSubdomain1123 = exactly(subdomain1123);
const isLabelKey = exactly(labelKey);
const isLabelValue = exactly(labelValue);

/** A DNS label by RFC 1123: at most 63 bytes. */
export const dnsLabelProblems = (text: string): string[] => {
  const problems: string[] = [];
  if (exceedsBytes(text, 63)) problems.push(tooLongText(63));
  if (isLabel1123.test(text)) return problems;
  problems.push(
    isSubdomain1123.test(text)
      ? 'must not contain dots'
      : patternText(
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
          label1123,
          'my-name',
          '123-abc',
        ),
  );
  return problems;
};

/** A DNS label by RFC 1035: as by RFC 1123, but it begins with a letter. */
export const dnsLabel1035Problems = (text: string): string[] => {
  const problems: string[] = [];
  if (exceedsBytes(text, 63)) problems.push(tooLongText(63));
  if (!isLabel1035.test(text)) {
    problems.push(
      patternText(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        label1035,
        'my-name',
        'abc-123',
      ),
    );
  }
  return problems;
};

/** A DNS subdomain by RFC 1123: labels joined by dots, at most 253 bytes; `unit` is that of the message. */
export const dnsSubdomainProblems = (text: string, unit?: 'bytes'): string[] => {
  const problems: string[] = [];
  if (exceedsBytes(text, 253)) problems.push(tooLongText(253, unit));
  if (!isSubdomain1123.test(text)) {
    problems.push(
      patternText(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        subdomain1123,
        'example.com',
      ),
    );
  }
  return problems;
};

const labelKeyText = (): string =>
  patternText(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    labelKey,
    'MyName',
    'my.name',
    '123-abc',
  );

/** A label key, which is also the form of annotations, finalizers and taints: `[prefix/]name`. */
export const labelKeyProblems = (text: string): string[] => {
  const slash = text.indexOf('/');
  if (slash >= 0 && text.includes('/', slash + 1)) {
    return [`a valid label key ${labelKeyText()} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const prefix = slash < 0 ? undefined : text.slice(0, slash);
  const name = text.slice(slash + 1);
  const problems: string[] = [];
  if (prefix === '') problems.push(`prefix part ${emptyText}`);
  else if (prefix !== undefined) problems.push(...dnsSubdomainProblems(prefix, 'bytes').map(problem => `prefix part ${problem}`));
  if (name === '') problems.push(`name part ${emptyText}`);
  else if (exceedsBytes(name, 63)) problems.push(`name part ${tooLongText(63, 'bytes')}`);
  if (!isLabelKey.test(name)) problems.push(`name part ${labelKeyText()}`);
  return problems;
};

/** A label value: empty, or like a label key's name. */
export const labelValueProblems = (text: string): string[] => {
  const problems: string[] = [];
  if (exceedsBytes(text, 63)) problems.push(tooLongText(63, 'bytes'));
  if (!isLabelValue.test(text)) {
    problems.push(
      patternText(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        labelValue,
        'MyValue',
        'my_value',
        '12345',
      ),
    );
  }
  return problems;
};

/** A name used as one segment of a path. */
export const pathSegmentProblems = (text: string): string[] => {
  if (text === '.' || text === '..') return [`may not be '${text}'`];
  return ['/', '%'].filter(character => text.includes(character)).map(character => `may not contain '${character}'`);
};

/** Validates a `generateName`, whose last character may be one that a name must not end with. */
export const asPrefix = (text: string): string => (text.length > 1 && text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

/**
 * Generated names: the prefix is cut so that prefix and suffix fit into a label (the API reference,
 * ObjectMeta.generateName).
 */
const longestPrefix = 58;
const suffixLength = 5;

/** Returns a name as the server generates it from a `generateName`. */
export const generatedName = (prefix: string, random: Random): string => prefix.slice(0, longestPrefix) + nameSuffix(random, suffixLength);
