import {badRequest} from '#src/api/status.js';
import {truthy} from '#src/apiserver/request/request-info.js';
import type {ConnectSubresource, ConnectOption, ConnectOptions} from '#src/resources/definition.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {canonicalTime} from '#src/schema/decode/go-time.js';

const longest = 2n ** 63n;

const syntax = (parser: string, text: string, problem: string): string => `strconv.${parser}: parsing ${JSON.stringify(text)}: ${problem}`;

const integer = (text: string): number => {
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(syntax('ParseInt', text, 'invalid syntax'));
  const value = BigInt(text.replace('+', ''));
  if (value >= longest || value < -longest) throw badRequest(syntax('ParseInt', text, 'value out of range'));
  return Number(value);
};

const port = (text: string): number => {
  const problem = !/^\d+$/.test(text) ? 'invalid syntax' : Number(text) > 65_535 ? 'value out of range' : undefined;
  if (problem) throw badRequest(`cannot convert to []int32: ${syntax('ParseUint', text, problem)}`);
  return Number(text);
};

const time = (text: string): string => {
  try {
    return (text && text !== 'null' && canonicalTime(text)) || '0001-01-01T00:00:00Z';
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message, error) : error;
  }
};

const read: Readonly<Record<ConnectOption['type'], (values: readonly string[]) => ConnectOptions[string]>> = {
  string: ([first = '']) => first,
  integer: ([first = '']) => integer(first),
  boolean: ([first = '']) => truthy(first),
  time: ([first = '']) => time(first),
  strings: values => values,
  ports: values => values.flatMap(value => value.split(',')).map(port),
};

/** Parses the options of a call from its query. Throws 400 for a value of the wrong type. */
export const connectOptions = ({options}: ConnectSubresource, query: URLSearchParams): ConnectOptions =>
  Object.fromEntries(options.fields.filter(({name}) => query.has(name)).map(({name, type}) => [name, read[type](query.getAll(name))]));
