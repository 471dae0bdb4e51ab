// The CEL library of named string formats, as in Kubernetes.

import {
  asPrefix,
  dnsLabel1035Problems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '#src/api/names.js';
import {declare, member, overload, type Library} from '#src/cel/check/declarations.js';
import {NativeList} from '#src/cel/values/native.js';
import {listOf, objectType, optionalOf, string, type Type} from '#src/cel/values/types.js';
import {noSuchOverload, OpaqueValue, Optional, type Value} from '#src/cel/values/values.js';
import {textFormats} from '#src/schema/custom/formats/text-formats.js';
import {UrlError, parseRequestUri} from './go-url.js';

const formatType = objectType('kubernetes.NamedFormat');

type Problems = (text: string) => readonly string[];

/** A named string format. */
export class Format extends OpaqueValue {
  readonly type: Type = formatType;
  readonly name: string;
  readonly problems: Problems;
  /** The length of an equivalent regular expression; the cost of validation depends on it. */
  readonly patternSize: number;

  constructor(name: string, patternSize: number, problems: Problems) {
    super();
    this.name = name;
    this.problems = problems;
    this.patternSize = patternSize;
  }

  equals(other: Value): Value {
    return other instanceof Format ? this.name === other.name : noSuchOverload;
  }
}

const prefixed =
  (problems: Problems): Problems =>
  text =>
    problems(asPrefix(text));

const matchingFormat =
  (name: string, message: string): Problems =>
  text =>
    textFormats.get(name)!(text) ? [] : [message];

const uriProblems: Problems = text => {
  try {
    parseRequestUri(text);
    return [];
  } catch (error) {
    if (error instanceof UrlError) return [error.message];
    throw error;
  }
};

const [uuidPattern, timePattern] = [70, 71];

const formats: ReadonlyMap<string, Format> = new Map([
  ['dns1123Label', new Format('DNS1123Label', 30, dnsLabelProblems)],
  ['dns1123Subdomain', new Format('DNS1123Subdomain', 60, dnsSubdomainProblems)],
  ['dns1035Label', new Format('DNS1035Label', 30, dnsLabel1035Problems)],
  ['qualifiedName', new Format('QualifiedName', 60, labelKeyProblems)],
  ['dns1123LabelPrefix', new Format('DNS1123LabelPrefix', 30, prefixed(dnsLabelProblems))],
  ['dns1123SubdomainPrefix', new Format('DNS1123SubdomainPrefix', 60, prefixed(dnsSubdomainProblems))],
  ['dns1035LabelPrefix', new Format('DNS1035LabelPrefix', 30, prefixed(dnsLabel1035Problems))],
  ['labelValue', new Format('LabelValue', 40, labelValueProblems)],
  ['uri', new Format('URI', 1103, uriProblems)],
  ['uuid', new Format('uuid', uuidPattern, matchingFormat('uuid', 'does not match the UUID format'))],
  ['byte', new Format('byte', 84, matchingFormat('byte', 'invalid base64'))],
  ['date', new Format('date', timePattern, matchingFormat('date', 'invalid date'))],
  ['datetime', new Format('datetime', timePattern, matchingFormat('datetime', 'invalid datetime'))],
]);

const validate = ({problems}: Format, text: string): Value => {
  const found = problems(text);
  return found.length === 0 ? new Optional() : new Optional(new NativeList(found));
};

/** The named format library. */
export const namedFormats: Library = {
  name: 'kubernetes.format',
  functions: [
    declare('validate', member('format-validate', [formatType, string], optionalOf(listOf(string)), validate)),
    declare(
      'format.named',
      overload('format-named', [string], optionalOf(formatType), (name: string) => new Optional(formats.get(name))),
    ),
    ...[...formats].map(([name, format]) =>
      declare(
        `format.${name}`,
        overload(`format.${name}`, [], formatType, () => format),
      ),
    ),
  ],
};
