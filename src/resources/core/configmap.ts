import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds.js';
import type {ConfigMap} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {dataKeyProblems, subdomainName} from '#src/resources/validation/names.js';
import {decodedLength, validateSealed, validateSize} from './data.js';

/** Keys of one of the two bags, none of which may be in the other as well. */
function* validateBag(bag: Readonly<Record<string, string>>, path: string, other: Readonly<Record<string, string>>, otherName: string): Iterable<FieldError> {
  for (const key of Object.keys(bag)) {
    for (const problem of dataKeyProblems(key)) yield invalid(`${path}[${key}]`, key, problem);
    if (Object.hasOwn(other, key)) yield invalid(`${path}[${key}]`, key, `duplicate of key present in ${otherName}`);
  }
}

function* validate(configMap: Readonly<ConfigMap>, old?: Readonly<ConfigMap>): Iterable<FieldError> {
  if (old) yield* validateSealed(configMap, old, ['data', 'binaryData']);
  const {data = {}, binaryData = {}} = configMap;
  yield* validateBag(data, 'data', binaryData, 'binaryData');
  yield* validateBag(binaryData, 'binaryData', data, 'data');
  yield* validateSize([...Object.values(data).map(text => Buffer.byteLength(text)), ...Object.values(binaryData).map(decodedLength)], '[]');
}

/** Settings for programs: texts and bytes by name, 1 MiB in all. */
export const configMaps = defineResource<ConfigMap>({
  kind: kinds.configMaps,
  shortNames: ['cm'],
  nameProblems: subdomainName,
  main: {
    writes: {create: ['metadata', 'data', 'binaryData', 'immutable'], update: ['metadata', 'data', 'binaryData', 'immutable']},
    validate,
  },
  columns: [
    nameColumn,
    {
      name: 'Data',
      description: 'How many entries the object holds, texts and bytes together.',
      of: ({data, binaryData}) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
    },
    ageColumn,
  ],
});
