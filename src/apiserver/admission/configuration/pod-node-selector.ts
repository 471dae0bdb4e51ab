import {invalid, type FieldError} from '#src/api/field-error.js';
import {parseConfiguration} from '#src/apiserver/configuration/document.js';
import {map, record, text} from '#src/apiserver/configuration/fields.js';
import {labelsIn, type NodeSelectors} from '#src/apiserver/admission/pods/pod-node-selector.js';
import {decodeParsed} from '#src/schema/decode/decode.js';
import type {Read} from './read.js';

const field = 'podNodeSelectorPluginConfig';
const clusterWide = 'clusterDefaultNodeSelector';

/** Reads the node labels of each namespace from a file without a kind. Selectors are texts. */
export const readNodeSelectors = (source: string): Read<NodeSelectors> => {
  const {object} = decodeParsed<Readonly<Record<string, Readonly<Record<string, string>> | undefined>>>(
    parseConfiguration(source),
    record({[field]: map(text)}),
    'Ignore',
  );
  const errors: FieldError[] = [];
  const selectors = new Map(
    Object.entries(object[field] ?? {}).map(([name, selector]): [string, Readonly<Record<string, string>>] => {
      try {
        return [name, labelsIn(selector)];
      } catch (error) {
        errors.push(invalid(`${field}[${name}]`, selector, (error as Error).message));
        return [name, {}];
      }
    }),
  );
  const otherwise = selectors.get(clusterWide) ?? {};
  selectors.delete(clusterWide);
  return {value: {otherwise, allowed: selectors}, errors};
};
