// The value types of flags: how each is parsed, shown in help, and represented in options.

import {isIP} from 'node:net';
import {parseDuration} from '#src/api/duration.js';
import {commaSeparated, isCidr, parseQuantity, parseTaint} from './value-parsers.js';
import type {Taint} from './value-parsers.js';

/**
 * A serving certificate for host names (`cert,key:pattern,pattern`). Without patterns the names in the certificate
 * apply.
 */
export interface SniPair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly patterns: readonly string[];
}

/** The value of `--version`: no request, one line, the whole record, or a version to report. */
export type VersionRequest = 'none' | 'line' | 'raw' | `v${string}`;

/** The value type of each flag type. Maps keep the order of the command line. */
export interface FlagValues {
  bool: boolean;
  int: number;
  int32: number;
  port: number;
  float: number;
  /** In milliseconds. */
  duration: number;
  /** In bytes, or in the unit's own count. */
  quantity: number;
  string: string;
  path: string;
  ip: string;
  url: string;
  /** Comma-separated and repeatable. */
  strings: readonly string[];
  ips: readonly string[];
  cidr: string;
  /** One or more ranges in one text, comma-separated. */
  cidrs: readonly string[];
  /** Repeatable, not split at commas. */
  each: readonly string[];
  map: ReadonlyMap<string, string>;
  /** `key` without a value stands for an empty value. */
  switches: ReadonlyMap<string, string>;
  /** `name<quantity` thresholds. */
  thresholds: ReadonlyMap<string, string>;
  /** `component:key=value` with an optional component. Keys of one component keep their order. */
  componentMap: ReadonlyMap<string, string>;
  multimap: ReadonlyMap<string, readonly string[]>;
  portRange: {readonly from: number; readonly to: number};
  taints: readonly Taint[];
  sniPairs: readonly SniPair[];
  version: VersionRequest;
}

export type FlagType = keyof FlagValues;

interface FlagTypeDefinition<V> {
  /** The name in help; empty for a switch. */
  readonly label: string;
  readonly zero: V;
  /** The value of the flag without an argument. */
  readonly noOptionDefault?: string;
  /**
   * Parses one value. `before` is the value of earlier occurrences of the flag. Throws an `Error` for an invalid value.
   */
  read(text: string, before?: V): V;
}

const invalid = (message: string): never => {
  throw new Error(message);
};

const readBool = (text: string): boolean =>
  /^(?:1|t|T|true|TRUE|True)$/.test(text) ? true : /^(?:0|f|F|false|FALSE|False)$/.test(text) ? false : invalid('must be true or false');

const readInt = (text: string, bits: 32 | 53): number => {
  const [, sign, digits = ''] =
    /^([+-]?)(0[xX][\da-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|0|[1-9]\d*)$/.exec(text) ?? invalid('must be a whole number');
  const size = Number(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const limit = bits === 32 ? 2 ** 31 : Number.MAX_SAFE_INTEGER;
  const value = sign === '-' ? -size : size;
  return value > (bits === 32 ? limit - 1 : limit) || value < -limit ? invalid('value out of range') : value + 0;
};

const readFloat = (text: string): number => {
  if (!/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) invalid('must be a number');
  return Number.isFinite(Number(text)) ? Number(text) : invalid('value out of range');
};

/** The range of 64-bit nanoseconds, in ms. */
const maxDurationMs = 2 ** 63 / 1e6;

const readDuration = (text: string): number => {
  const ms = parseDuration(text) ?? invalid('must be a duration such as 1h2m3s');
  return Math.abs(ms) < maxDurationMs ? ms : invalid('value out of range, at most 2562047h47m16s');
};

const readQuantity = (text: string): number => {
  const amount = parseQuantity(text) ?? invalid('must be a quantity such as 512, 64Ki or 10M');
  return Math.abs(amount) <= Number.MAX_SAFE_INTEGER ? amount : invalid('value out of range');
};

const readPort = (text: string): number => {
  const port = readInt(text, 53);
  return port >= 0 && port <= 65_535 ? port : invalid('must be between 0 and 65535, inclusive');
};

const text = (label = 'string'): FlagTypeDefinition<string> => ({label, zero: '', read: value => value});

const validatedString = (label: string, isValid: (value: string) => boolean, message: string): FlagTypeDefinition<string> => ({
  label,
  zero: '',
  read: value => (value === '' || isValid(value) ? value : invalid(message)),
});

const list = (label: string, isValid: (item: string) => boolean = () => true, message = ''): FlagTypeDefinition<readonly string[]> => ({
  label,
  zero: [],
  read: (value, before = []) => [...before, ...commaSeparated(value).map(item => (isValid(item) ? item : invalid(`"${item}" ${message}`)))],
});

/** Comma-separated pairs. A text with a single pair may contain commas in its value. */
const pairs = (label: string, separator = '='): FlagTypeDefinition<ReadonlyMap<string, string>> => ({
  label,
  zero: new Map(),
  read(value, before) {
    const items = value.split(separator).length === 2 ? [value.replace(/^"|"$/g, '')] : commaSeparated(value);
    const split = (item: string): [string, string] => {
      const at = item.indexOf(separator);
      return at > 0
        ? [item.slice(0, at).trim(), item.slice(at + 1).trim()]
        : invalid(`"${item}" must be formatted as key${separator}value`);
    };
    return new Map([...(before ?? []), ...items.map(split)]);
  },
});

const switches: FlagTypeDefinition<ReadonlyMap<string, string>> = {
  label: 'key=value pairs',
  zero: new Map(),
  read: (value, before) =>
    new Map([
      ...(before ?? []),
      ...commaSeparated(value).map((item): [string, string] => {
        const [key = '', ...rest] = item.split('=');
        return key.trim() ? [key.trim(), rest.join('=').trim()] : invalid('a key must not be empty');
      }),
    ]),
};

const multimap: FlagTypeDefinition<ReadonlyMap<string, readonly string[]>> = {
  label: 'colon-separated multimap',
  zero: new Map(),
  read(value, before) {
    const all = new Map(before);
    for (const item of value.split(',').filter(Boolean)) {
      const [key = '', ...rest] = item.split(':');
      if (rest.length === 0) invalid(`"${item}" must be formatted as name:value`);
      all.set(key.trim(), [...(all.get(key.trim()) ?? []), rest.join(':').trim()]);
    }
    return all;
  },
};

const sniPairs: FlagTypeDefinition<readonly SniPair[]> = {
  label: 'string',
  zero: [],
  read(value, before = []) {
    const [files = '', ...rest] = value.split(':');
    const [certFile = '', keyFile = '', ...more] = files.split(',').map(file => file.trim());
    if (!certFile || !keyFile || more.length > 0) invalid('expected a certificate and a key file separated by a comma');
    const patterns = rest
      .join(':')
      .split(',')
      .map(pattern => pattern.trim())
      .filter(Boolean);
    return [...before, {certFile, keyFile, patterns}];
  },
};

const portRange: FlagTypeDefinition<FlagValues['portRange']> = {
  label: 'N1-N2',
  zero: {from: 0, to: 0},
  read(value) {
    const [, from, sign, to] = /^(\d+)(?:([-+])(\d+))?$/.exec(value.trim()) ?? invalid('must be a range of ports such as 30000-32767');
    const first = readPort(from!);
    const last = to === undefined ? first : sign === '+' ? first + readPort(to) : readPort(to);
    return last < first || last > 65_535 ? invalid('must be a range of ports such as 30000-32767') : {from: first, to: last};
  },
};

const version: FlagTypeDefinition<VersionRequest> = {
  label: 'version[=true]',
  zero: 'none',
  noOptionDefault: 'true',
  read: value => (value === 'raw' ? 'raw' : value.startsWith('v') ? (value as VersionRequest) : readBool(value) ? 'line' : 'none'),
};

/** All flag types. */
export const flagTypes: {readonly [T in FlagType]: FlagTypeDefinition<FlagValues[T]>} = {
  bool: {label: '', zero: false, noOptionDefault: 'true', read: readBool},
  int: {label: 'int', zero: 0, read: value => readInt(value, 53)},
  int32: {label: 'int32', zero: 0, read: value => readInt(value, 32)},
  port: {label: 'int', zero: 0, read: readPort},
  float: {label: 'float', zero: 0, read: readFloat},
  duration: {label: 'duration', zero: 0, read: readDuration},
  quantity: {label: 'quantity', zero: 0, read: readQuantity},
  string: text(),
  path: text(),
  ip: validatedString('string', value => isIP(value) > 0, 'must be an IP address'),
  url: validatedString('string', URL.canParse, 'must be a URL'),
  strings: list('strings'),
  ips: list('strings', item => isIP(item) > 0, 'is not an IP address'),
  cidr: validatedString('string', isCidr, 'must be a range such as 10.0.0.0/16'),
  cidrs: {
    ...list('string', isCidr, 'is not a range such as 10.0.0.0/16'),
    read: value => list('', isCidr, 'is not a range such as 10.0.0.0/16').read(value),
  },
  each: {label: 'string', zero: [], read: (value, before = []) => [...before, value]},
  map: pairs('key=value pairs'),
  switches,
  thresholds: pairs('key=value pairs', '<'),
  componentMap: pairs('component:key=value pairs'),
  multimap,
  portRange,
  taints: {label: '[]Taint', zero: [], read: (value, before = []) => [...before, ...commaSeparated(value).map(parseTaint)]},
  sniPairs,
  version,
};
