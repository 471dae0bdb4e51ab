import {decodeParsed} from '#src/schema/decode/decode.js';
import {parseBody, type ParsedBody} from '#src/schema/decode/document.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {record, text, type Fields} from './fields.js';

/** A supported kind of configuration file. */
export interface ConfigurationKind {
  /** The group on the wire. */
  readonly group: string;
  /** All supported versions, the best first; they have the same fields. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly fields: Fields;
}

const nameOf = ({group, versions: [version], kind}: ConfigurationKind): string => `${kind} of ${group}/${version}`;

/** Parses a text as YAML or JSON before its kind is known. Throws an error of one line. */
export const parseConfiguration = (source: string): ParsedBody => parseBody(source, 'yaml');

/**
 * Reads a configuration of one of the kinds. Throws an error of one line for other kinds, and for unknown fields,
 * duplicate fields and wrong types, which are never intended.
 */
export const readConfiguration = <T>(source: string | ParsedBody, kinds: readonly ConfigurationKind[]): T => {
  const body = typeof source === 'string' ? parseConfiguration(source) : source;
  const {kind, apiVersion} = body;
  const wanted = kinds.map(nameOf).join(' or ');
  if (!kind || !apiVersion) throw new Error(`${kind ? 'apiVersion' : 'kind'} is missing: expected ${wanted}`);
  const found = kinds.find(one => one.kind === kind && one.versions.some(version => apiVersion === `${one.group}/${version}`));
  if (!found)
    throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}: expected ${wanted}`);
  const {object, problems} = decodeParsed<T>(body, record({kind: text, apiVersion: text, ...found.fields}), 'Strict');
  if (problems.length > 0) throw new Error(strictDecodingText(problems));
  return object;
};
