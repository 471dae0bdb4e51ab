import {join} from 'node:path';
import {encodeRecord} from '#src/apiserver/registry/record.js';
import {openEmbeddedStore} from '#src/storage/embedded/index.js';

const at = '2026-01-01T00:00:00Z';
const owners = [
  {
    manager: 'kubectl-create',
    operation: 'Update',
    apiVersion: 'v1',
    time: at,
    fieldsType: 'FieldsV1',
    fieldsV1: {'f:data': {'.': {}, 'f:filler': {}}, 'f:metadata': {'f:labels': {'.': {}, 'f:app': {}}}},
  },
];

const configMap = (index: number) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: `item-${index}`,
    namespace: 'many',
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    creationTimestamp: at,
    labels: {app: `app-${index % 100}`},
    managedFields: owners,
  },
  data: {filler: 'x'.repeat(600)},
});

/** Stores that many config maps of 1 kB in namespace `many` of a data directory, without a server. */
export const seedConfigMaps = async ({directory, count}: {readonly directory: string; readonly count: number}): Promise<void> => {
  const store = await openEmbeddedStore({directory: join(directory, 'store'), naming: 'kubernetes'});
  for (let from = 0; from < count; from += 5000) {
    await Promise.all(
      Array.from({length: Math.min(5000, count - from)}, (_, n) =>
        store.create(`/registry/configmaps/many/item-${from + n}`, encodeRecord(configMap(from + n))),
      ),
    );
  }
  await store.close();
};
