/** Says what is wrong with a text, each problem as one phrase that can follow the field's name; nothing when all is well. */
export type Problems = (text: string) => readonly string[];

/** The same for names: `prefix` when a generateName is judged, which may end in a dash. */
export type NameProblems = (name: string, prefix: boolean) => readonly string[];

const bytes = (text: string): number => Buffer.byteLength(text);

const quotedOr = (examples: readonly string[]): string => examples.map(example => `'${example}', `).join('or ');

/** The text that explains a pattern, with examples and the pattern itself. */
export const patternProblem = (message: string, pattern: string, ...examples: readonly string[]): string =>
  examples.length === 0 ? `${message} (regex used for validation is '${pattern}')` : `${message} (e.g. ${quotedOr(examples)}regex used for validation is '${pattern}')`;

export const tooLongProblem = (most: number): string => `must be no more than ${most} bytes`;
const emptyProblem = 'must be non-empty';

/** A text of at most `most` bytes that matches the whole of `pattern`. */
const form = (most: number, pattern: string, message: string, ...examples: readonly string[]): Problems => {
  const whole = new RegExp(`^${pattern}$`);
  const problem = patternProblem(message, pattern, ...examples);
  return text => {
    const problems: string[] = [];
    if (bytes(text) > most) problems.push(tooLongProblem(most));
    if (!whole.test(text)) problems.push(problem);
    return problems;
  };
};

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const wholeSubdomain = new RegExp(`^${subdomain}$`);

const labelForm = form(
  63,
  label,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  'my-name',
  '123-abc',
);

/** RFC 1123 label, at most 63 bytes. */
export const dnsLabelProblems: Problems = text => {
  const problems = labelForm(text);
  // What would do as a subdomain can only have failed for its dots, which is the more helpful thing to say.
  return problems.length > 0 && text.includes('.') && wholeSubdomain.test(text)
    ? [...(bytes(text) > 63 ? [tooLongProblem(63)] : []), 'must not contain dots']
    : problems;
};

/** RFC 1035 label, at most 63 bytes: starts with a letter. */
export const dns1035LabelProblems: Problems = form(
  63,
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  'my-name',
  'abc-123',
);

/** RFC 1123 subdomain, at most 253 bytes. */
export const dnsSubdomainProblems: Problems = form(
  253,
  subdomain,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  'example.com',
);

const labelKeyName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const wholeLabelKeyName = new RegExp(`^${labelKeyName}$`);
const labelKeyPattern = patternProblem(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelKeyName,
  'MyName',
  'my.name',
  '123-abc',
);

/** A qualified name: `[prefix/]name`, the form of label keys, annotation keys and finalizers. */
export const qualifiedNameProblems: Problems = text => {
  const parts = text.split('/');
  if (parts.length > 2) return [`a valid label key ${labelKeyPattern} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const name = parts.at(-1)!;
  const problems: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0]!;
    problems.push(...(prefix === '' ? [emptyProblem] : dnsSubdomainProblems(prefix)).map(problem => `prefix part ${problem}`));
  }
  if (name === '') problems.push(`name part ${emptyProblem}`);
  else if (bytes(name) > 63) problems.push(`name part ${tooLongProblem(63)}`);
  if (!wholeLabelKeyName.test(name)) problems.push(`name part ${labelKeyPattern}`);
  return problems;
};

export const labelValueProblems: Problems = form(
  63,
  `(${labelKeyName})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  'MyValue',
  'my_value',
  '12345',
);

const dataKeyForm = form(253, '[-._a-zA-Z0-9]+', "a valid config key must consist of alphanumeric characters, '-', '_' or '.'", 'key.name', 'KEY_NAME', 'key-name');

/** A key of a ConfigMap or Secret: a file name that leads nowhere else. */
export const dataKeyProblems: Problems = text => {
  const problems = dataKeyForm(text);
  if (text === '.') return [...problems, "must not be '.'"];
  if (text === '..') return [...problems, "must not be '..'"];
  return text.startsWith('..') ? [...problems, "must not start with '..'"] : problems;
};

/** A name that can stand between two slashes of a path. */
export const pathSegmentProblems: NameProblems = (name, prefix) => {
  if (!prefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter(c => name.includes(c)).map(c => `may not contain '${c}'`);
};

/** The dash a generateName usually ends in will have characters behind it. */
const masked = (name: string): string => (name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name);

const nameRule =
  (problems: Problems): NameProblems =>
  (name, prefix) =>
    problems(prefix ? masked(name) : name);

/** The rule of most kinds. */
export const subdomainName = nameRule(dnsSubdomainProblems);
export const labelName = nameRule(dnsLabelProblems);
