import {decodeParsed} from '#src/schema/decode/decode.js';
import {parseBody, type ParsedBody} from '#src/schema/decode/document.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {record, text, type Fields} from './fields.js';

/** A kind that a configuration file may be of. */
export interface ConfigurationKind {
  /** On the wire's spelling. */
  readonly group: string;
  /** Every version that is read, the best first; they do not differ in their fields. */
  readonly versions: readonly string[];
  readonly kind: string;
  readonly fields: Fields;
}

const nameOf = ({group, versions: [version], kind}: ConfigurationKind): string => `${kind} of ${group}/${version}`;

/** Reads a text as YAML or JSON, as far as can be done without knowing what it is. Throws one line. */
export const parseConfiguration = (source: string): ParsedBody => parseBody(source, 'yaml');

/**
 * Reads a configuration of one of the kinds. Throws one line for what is none of them, and for fields that are not known, said twice or of the wrong
 * type: nobody means those.
 */
export const readConfiguration = <T>(source: string | ParsedBody, kinds: readonly ConfigurationKind[]): T => {
  const body = typeof source === 'string' ? parseConfiguration(source) : source;
  const {kind, apiVersion} = body;
  const wanted = kinds.map(nameOf).join(' or ');
  if (!kind || !apiVersion) throw new Error(`${kind ? 'apiVersion' : 'kind'} is missing: expected ${wanted}`);
  const found = kinds.find(one => one.kind === kind && one.versions.some(version => apiVersion === `${one.group}/${version}`));
  if (!found) throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}: expected ${wanted}`);
  const {object, problems} = decodeParsed<T>(body, record({kind: text, apiVersion: text, ...found.fields}), 'Strict');
  if (problems.length > 0) throw new Error(strictDecodingText(problems));
  return object;
};
