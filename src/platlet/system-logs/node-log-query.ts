// A query of the logs of a node's services (KEP-2258): validation, and the arguments of journalctl.

import {invalid, invalidText, required, printedValue, tooMany, type FieldError} from '#src/api/field-error.js';
import {regexpError} from '#src/schema/regexp.js';
import {queryTime, type QueryTime} from './query-time.js';

export interface NodeLogQuery {
  readonly services: readonly string[];
  readonly files: readonly string[];
  readonly options: NodeLogOptions;
}

/** The selection of lines. */
export interface NodeLogOptions {
  readonly since?: QueryTime;
  readonly until?: QueryTime;
  readonly tailLines?: bigint;
  readonly boot?: bigint;
  readonly pattern?: string;
}

const maxTailLines = 100_000n;
const maxServiceLength = 256;
const maxServices = 4;
const maxInteger = 2n ** 63n;

/** Joins field errors in one text. */
export const fieldErrorsText = (errors: readonly FieldError[]): string => {
  const texts = [...new Set(errors.map(({path, detail}) => `${path}: ${detail}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
};

/** The result of parsing a query: `query` is absent if there are no parameters. */
export interface ReadQuery {
  readonly query?: NodeLogQuery;
  readonly errors: readonly FieldError[];
}

/** Parses a query. Without errors each field is valid. */
export const readNodeLogQuery = (given: URLSearchParams): ReadQuery => {
  const errors: FieldError[] = [];
  const queries = given.getAll('query');
  const services = queries.filter(text => !/[/\\]/.test(text) && text.trim() !== '');
  const files = queries.filter(text => /[/\\]/.test(text));
  if (queries.length > 0 && services.length === 0 && files.length === 0) errors.push(invalid('query', queries, 'may not be empty'));
  const time = (name: string): QueryTime | undefined => {
    const text = given.get(name) ?? '';
    const found = text === '' ? undefined : queryTime(text);
    if (text !== '' && found === undefined) errors.push(invalid(name, text, 'invalid time format'));
    return found;
  };
  const number = (name: string): bigint | undefined => {
    const text = given.get(name) ?? '';
    if (text === '') return undefined;
    const found = integerOf(text);
    if (typeof found === 'bigint') return found;
    errors.push(invalid(name, text, `strconv.Atoi: parsing ${printedValue(text)}: ${found}`));
    return undefined;
  };
  const pattern = given.get('pattern') ?? '';
  const options = withoutUndefined({
    since: time('sinceTime'),
    until: time('untilTime'),
    boot: number('boot'),
    tailLines: number('tailLines'),
    pattern: pattern === '' ? undefined : pattern,
  });
  const asksNothing = services.length + files.length + Object.keys(options).length === 0;
  return errors.length > 0 || asksNothing ? {errors} : {errors, query: {services, files, options}};
};

/** Returns the integer of 64 bits, or why a text is none. */
const integerOf = (text: string): bigint | string => {
  if (!/^[+-]?\d+$/.test(text)) return 'invalid syntax';
  const value = BigInt(text.replace('+', ''));
  return value >= -maxInteger && value < maxInteger ? value : 'value out of range';
};

const withoutUndefined = (options: {readonly [K in keyof NodeLogOptions]: NodeLogOptions[K] | undefined}): NodeLogOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

/** Returns the errors of combinations of fields. */
export const nodeLogQueryErrors = ({services, files, options}: NodeLogQuery): readonly FieldError[] => {
  const errors: FieldError[] = [];
  for (const service of services) {
    if (Buffer.byteLength(service) > maxServiceLength) errors.push(invalid('query', service, 'length must be less than 100'));
    else if (/[^a-zA-Z\-_.:0-9@]/.test(service)) errors.push(invalid('query', service, 'input contains unsupported characters'));
  }
  if (services.length > maxServices) errors.push(tooMany('query', services.length, maxServices));
  if (files.length === 0 && services.length === 0) errors.push(required('query', 'cannot be empty with options'));
  else if (files.length > 0 && services.length > 0)
    errors.push(invalid('query', `[${files.join(' ')}], [${services.join(' ')}]`, 'cannot specify a file and service'));
  else if (files.length > 1) errors.push(invalid('query', files, 'cannot specify more than one file'));
  else if (files.length === 1 && Object.keys(options).length > 0) errors.push(invalid('query', files, 'cannot specify file with options'));
  return [...errors, ...optionErrors(options)];
};

const optionErrors = ({since, until, boot, tailLines, pattern = ''}: NodeLogOptions): readonly FieldError[] => [
  ...(since !== undefined && until !== undefined && since.at > until.at
    ? [invalid('untilTime', until.text, 'must be after `sinceTime`')]
    : []),
  ...(boot !== undefined && boot > 0n ? [invalidText('boot', String(boot), 'must be less than 1')] : []),
  ...(tailLines !== undefined && (tailLines < 0n || tailLines > maxTailLines)
    ? [invalidText('tailLines', String(tailLines), `must be between 0 and ${maxTailLines}, inclusive`)]
    : []),
  ...patternErrors(pattern),
];

const patternErrors = (pattern: string): readonly FieldError[] => {
  const error = pattern === '' ? undefined : regexpError(pattern);
  return error === undefined ? [] : [invalid('pattern', pattern, error)];
};

/** Formats a time for journalctl, in UTC. */
const journalTime = ({at}: QueryTime): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ');

/** Returns the arguments of journalctl for services. */
export const journalArguments = (services: readonly string[], {since, until, tailLines, pattern, boot}: NodeLogOptions): string[] => [
  '--utc',
  '--no-pager',
  '--output=short-precise',
  ...(since === undefined ? [] : [`--since=${journalTime(since)} UTC`]),
  ...(until === undefined ? [] : [`--until=${journalTime(until)} UTC`]),
  ...(tailLines === undefined ? [] : ['--pager-end', `--lines=${tailLines}`]),
  ...services.map(service => `--unit=${service}`),
  ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
  ...(boot === undefined ? [] : ['--boot', String(boot)]),
];
