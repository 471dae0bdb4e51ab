import {declare, member, overload, type Library} from '#src/cel/check/declarations.js';
import {NativeList, NativeMap} from '#src/cel/values/native.js';
import {bool, listOf, mapOf, objectType, string, type Type} from '#src/cel/values/types.js';
import {Failure, noSuchOverload, OpaqueValue, type Value} from '#src/cel/values/values.js';
import {hostAndPort, formatUrl, UrlError, parseGoUrl, parseRequestUri, queryParameters, type GoUrl} from './go-url.js';

const urlType = objectType('kubernetes.URL');

class Url extends OpaqueValue {
  readonly type: Type = urlType;
  readonly parts: GoUrl;

  constructor(url: GoUrl) {
    super();
    this.parts = url;
  }

  equals(other: Value): Value {
    return other instanceof Url ? formatUrl(this.parts) === formatUrl(other.parts) : noSuchOverload;
  }
}

const read = <T>(act: () => T, otherwise: (message: string) => T): T => {
  try {
    return act();
  } catch (error) {
    if (error instanceof UrlError) return otherwise(error.message);
    throw error;
  }
};

const parsed = (text: string): Value =>
  read<Value>(
    () => {
      parseRequestUri(text);
      return new Url(parseGoUrl(text));
    },
    message => new Failure(`URL parse error during conversion from string: ${message}`),
  );

const isUrl = (text: string): boolean =>
  read(
    () => Boolean(parseRequestUri(text)),
    () => false,
  );

const parameters = (url: GoUrl): Value => {
  const made = new NativeMap();
  for (const [name, values] of queryParameters(url)) made.put(name, new NativeList(values));
  return made;
};

const part = (name: string, id: string, result: Type, of: (url: GoUrl) => Value) =>
  declare(
    name,
    member(id, [urlType], result, ({parts}: Url) => of(parts)),
  );

/** The URL library. */
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
