import {declare, member, overload, type Library} from '#src/cel/declarations.js';
import {NativeList, NativeMap} from '#src/cel/native.js';
import {bool, listOf, mapOf, objectType, string, type Type} from '#src/cel/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values.js';
import {hostAndPort, locatorText, LocatorError, parseLocator, parseRequestLocator, queryParameters, type Locator} from './locator.js';

const urlType = objectType('kubernetes.URL');

class Url extends OpaqueValue {
  readonly type: Type = urlType;
  readonly locator: Locator;

  constructor(locator: Locator) {
    super();
    this.locator = locator;
  }

  equals(other: Value): Value {
    return other instanceof Url ? locatorText(this.locator) === locatorText(other.locator) : noSuchOverload;
  }
}

const read = <T>(act: () => T, otherwise: (complaint: string) => T): T => {
  try {
    return act();
  } catch (error) {
    if (error instanceof LocatorError) return otherwise(error.message);
    throw error;
  }
};

const parsed = (text: string): Value =>
  read<Value>(
    () => {
      parseRequestLocator(text);
      return new Url(parseLocator(text));
    },
    complaint => new Failure(`URL parse error during conversion from string: ${complaint}`),
  );

const isUrl = (text: string): boolean => read(() => Boolean(parseRequestLocator(text)), () => false);

const parameters = (locator: Locator): Value => {
  const made = new NativeMap();
  for (const [name, values] of queryParameters(locator)) made.put(name, new NativeList(values));
  return made;
};

const part = (name: string, id: string, result: Type, of: (locator: Locator) => Value) => declare(name, member(id, [urlType], result, ({locator}: Url) => of(locator)));

/** URLs and what they consist of. */
export const urls: Library = {
  name: 'kubernetes.urls',
  functions: [
    declare('url', overload('string_to_url', [string], urlType, parsed)),
    declare('isURL', overload('is_url_string', [string], bool, isUrl)),
    part('getScheme', 'url_get_scheme', string, ({scheme}) => scheme),
    part('getHost', 'url_get_host', string, ({host}) => host),
    part('getHostname', 'url_get_hostname', string, ({host}) => hostAndPort(host)[0]),
    part('getPort', 'url_get_port', string, ({host}) => hostAndPort(host)[1]),
    part('getEscapedPath', 'url_get_escaped_path', string, ({escapedPath}) => escapedPath),
    part('getQuery', 'url_get_query', mapOf(string, listOf(string)), parameters),
  ],
};
