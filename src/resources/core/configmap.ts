import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {ConfigMap} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {decodedSize, validateKey, validateKeys, validateImmutable, validateSize} from './data.js';

function* validate(configMap: Readonly<ConfigMap>, old?: Readonly<ConfigMap>): Iterable<FieldError> {
  if (old) yield* validateImmutable(configMap, old, ['data', 'binaryData']);
  const {data = {}, binaryData} = configMap;
  let size = 0;
  for (const key of Object.keys(data)) {
    yield* validateKey(key, 'data');
    if (binaryData && Object.hasOwn(binaryData, key)) yield invalid(`data[${key}]`, key, 'duplicate of key present in binaryData');
    size += Buffer.byteLength(data[key]!);
  }
  if (binaryData) yield* validateKeys(binaryData, 'binaryData');
  yield* validateSize(size + decodedSize(binaryData), '[]');
}

/** ConfigMap: configuration as texts and bytes by name, 1 MiB in all. */
export const configMaps = defineResource<ConfigMap>({
  kind: kinds.configMaps,
  discovery: {shortNames: ['cm']},
  metadata: {nameProblems: subdomainName},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'data', 'binaryData', 'immutable'], update: ['metadata', 'data', 'binaryData', 'immutable']},
    validate,
  },
  presentation: {
    columns: [
      nameColumn,
      {
        name: 'Data',
        description: 'How many entries the object holds, texts and bytes together.',
        of: ({data, binaryData}) => Object.keys(data ?? {}).length + Object.keys(binaryData ?? {}).length,
      },
      ageColumn,
    ],
  },
});
