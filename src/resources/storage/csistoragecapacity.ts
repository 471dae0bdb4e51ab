import {invalid, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {defineResource} from '#src/resources/definition.js';
import {immutable} from '#src/resources/validation/equality.js';
import {hasInvalidValues, validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {nodeSelectorWarnings} from '#src/resources/validation/node-labels.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {each, negativeText} from '#src/resources/validation/values.js';

type CSIStorageCapacity = ObjectOf<typeof kinds.csiStorageCapacities>;

function* validate(
  {nodeTopology, storageClassName = '', capacity}: Readonly<CSIStorageCapacity>,
  old: Readonly<CSIStorageCapacity> | undefined,
): Iterable<FieldError> {
  if (nodeTopology)
    yield* validateLabelSelector(
      nodeTopology as LabelSelectorObject,
      'nodeTopology',
      hasInvalidValues(old?.nodeTopology as LabelSelectorObject | undefined),
    );
  yield* each('storageClassName', storageClassName, dnsSubdomainProblems(storageClassName));
  if (capacity !== undefined && compareQuantities(parseQuantity(capacity), zeroQuantity) < 0)
    yield invalid('capacity', capacity, negativeText);
  if (!old) return;
  yield* immutable('nodeTopology', nodeTopology, old.nodeTopology);
  yield* immutable('storageClassName', storageClassName, old.storageClassName);
}

const writable = ['metadata', 'nodeTopology', 'storageClassName', 'capacity', 'maximumVolumeSize'];

/** CSIStorageCapacity: the available capacity of a driver for one class and some nodes. */
export const csiStorageCapacities = defineResource<CSIStorageCapacity>({
  kind: kinds.csiStorageCapacities,
  metadata: {nameProblems: subdomainName},
  update: {unconditional: false},
  main: {
    metadata: 'both',
    writes: {create: writable, update: writable},
    validate,
    warn: ({nodeTopology = {}}, _old, {naming}) => nodeSelectorWarnings(nodeTopology as LabelSelectorObject, 'nodeTopology', naming),
  },
});
