import {invalid, type FieldError} from '#src/api/field-error.js';
import {setAt, integerAt, textAt, type Reading} from './path.js';
import type {PlainObject} from '#src/schema/decode/plain.js';

// The scale of a custom resource: reads, validates and sets the fields at the paths of its definition.

/** The paths of a custom resource's scale fields. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** The values of an object's scale. `isSet` distinguishes zero replicas from none. */
export interface ScaleNumbers {
  readonly specReplicas: number;
  readonly isSet: boolean;
  readonly statusReplicas: number;
  readonly selector: string;
}

const maxReplicas = 2 ** 31 - 1;

function* replicas(object: Readonly<PlainObject>, path: string): Iterable<FieldError> {
  const found = integerAt(object, path);
  if ('problem' in found) yield invalid(path, 0, found.problem);
  else if (found.value !== undefined && found.value < 0) yield invalid(path, found.value, 'should be a non-negative integer');
  else if (found.value !== undefined && found.value > maxReplicas)
    yield invalid(path, found.value, `should be less than or equal to ${maxReplicas}`);
}

/** Validates the replicas in the spec. */
export const validateScaleSpec = (object: Readonly<PlainObject>, {specReplicasPath}: ScalePaths): Iterable<FieldError> =>
  replicas(object, specReplicasPath);

/** Validates the replicas and the selector in the status. */
export function* validateScaleStatus(
  object: Readonly<PlainObject>,
  {statusReplicasPath, labelSelectorPath}: ScalePaths,
): Iterable<FieldError> {
  yield* replicas(object, statusReplicasPath);
  if (!labelSelectorPath) return;
  const selector = textAt(object, labelSelectorPath);
  if ('problem' in selector) yield invalid(labelSelectorPath, '', selector.problem);
}

const valueOf = <T>(reading: Reading<T>): T | undefined => {
  if ('problem' in reading) throw new Error(reading.problem);
  return reading.value;
};

/** Returns the scale of an object. Throws an `Error` with the original's text for values of other types. */
export const scaleNumbers = (
  object: Readonly<PlainObject>,
  {specReplicasPath, statusReplicasPath, labelSelectorPath}: ScalePaths,
): ScaleNumbers => {
  const spec = valueOf(integerAt(object, specReplicasPath));
  return {
    specReplicas: spec ?? 0,
    isSet: spec !== undefined,
    statusReplicas: valueOf(integerAt(object, statusReplicasPath)) ?? 0,
    selector: (labelSelectorPath && valueOf(textAt(object, labelSelectorPath))) || '',
  };
};

/** Sets the replicas in the spec, in place. Throws an `Error` if a parent is not an object. */
export const setReplicas = (object: PlainObject, {specReplicasPath}: ScalePaths, count: number): void => {
  const problem = setAt(object, specReplicasPath, count);
  if (problem) throw new Error(problem);
};
