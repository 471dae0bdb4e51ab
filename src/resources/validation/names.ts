import {
  asPrefix,
  dnsLabelProblems,
  dnsSubdomainProblems,
  exceedsBytes,
  pathSegmentProblems,
  patternText,
  tooLongText,
} from '#src/api/names.js';

// The rules for object names. A kind's definition refers to one of them.

/** Returns the problems of a name; `prefix` if it is a generateName, which may end in a dash. */
export type NameProblems = (name: string, prefix: boolean) => readonly string[];

const nameRule =
  (problems: (text: string) => readonly string[]): NameProblems =>
  (name, prefix) =>
    problems(prefix ? asPrefix(name) : name);

/** The rule of most kinds. */
export const subdomainName = nameRule(dnsSubdomainProblems);
/** The rule of most kinds for names, but without validating generateName. */
export const nameOnly: NameProblems = (name, prefix) => (prefix ? [] : dnsSubdomainProblems(name));
export const labelName = nameRule(dnsLabelProblems);

/** Accepts everything that is a valid path segment. */
export const pathSegmentName: NameProblems = (name, prefix) => pathSegmentProblems(prefix && /^\.{1,2}$/.test(name) ? `${name}a` : name);

const dataKey = '[-._a-zA-Z0-9]+';
const isDataKey = new RegExp(`^${dataKey}$`);
const dataKeyText = patternText(
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  dataKey,
  'key.name',
  'KEY_NAME',
  'key-name',
);

/** Returns the problems of a ConfigMap or Secret key, which is a file name. */
export const dataKeyProblems = (text: string): string[] => {
  const problems: string[] = [];
  if (exceedsBytes(text, 253)) problems.push(tooLongText(253));
  if (!isDataKey.test(text)) problems.push(dataKeyText);
  if (text === '.' || text === '..') problems.push(`must not be '${text}'`);
  else if (text.startsWith('..')) problems.push("must not start with '..'");
  return problems;
};
