import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {each, negativeText} from '#src/resources/validation/values.js';

type CSIStorageCapacity = ObjectOf<typeof kinds.csiStorageCapacities>;

function* validateNew({nodeTopology, storageClassName = '', capacity, maximumVolumeSize}: Readonly<CSIStorageCapacity>): Iterable<FieldError> {
  if (nodeTopology) yield* validateLabelSelector(nodeTopology as LabelSelectorObject, 'nodeTopology');
  yield* each('storageClassName', storageClassName, dnsSubdomainProblems(storageClassName));
  for (const [path, text] of Object.entries({capacity, maximumVolumeSize})) {
    if (text !== undefined && compareQuantities(parseQuantity(text), zeroQuantity) < 0) yield invalid(path, text, negativeText);
  }
}

const writable = ['metadata', 'nodeTopology', 'storageClassName', 'capacity', 'maximumVolumeSize'];

/** How much a driver can still give, for one class and some of the nodes. */
export const csiStorageCapacities = defineResource<CSIStorageCapacity>({
  kind: kinds.csiStorageCapacities,
  nameProblems: subdomainName,
  unconditionalUpdate: false,
  main: {
    writes: {create: writable, update: writable},
    *validate(object, old) {
      if (!old) return yield* validateNew(object);
      yield* immutable('nodeTopology', object.nodeTopology, old.nodeTopology);
      yield* immutable('storageClassName', object.storageClassName, old.storageClassName);
    },
  },
  columns: [
    nameColumn,
    {name: 'StorageClassName', description: 'The class the amount is for.', of: ({storageClassName}) => storageClassName},
    {name: 'Capacity', description: 'What is left.', of: ({capacity}) => capacity ?? '<unset>'},
  ],
});
