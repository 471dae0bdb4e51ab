import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {labelValueProblems} from '#src/api/names.js';
import {each, oneOf, qualifiedName} from '#src/resources/validation/values.js';

export interface DeviceTaint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

export interface DeviceToleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

const effects = ['NoExecute', 'NoSchedule', 'None'];
const operators = ['Equal', 'Exists'];

/** Validates a device taint. A stored effect may stay, since newer servers may know more of them. */
export function* validateTaint(
  {key, value, effect}: Readonly<DeviceTaint>,
  path: string,
  old?: Readonly<DeviceTaint>,
): Iterable<FieldError> {
  yield* qualifiedName(`${path}.key`, key ?? '');
  if (value) yield* each(`${path}.value`, value, labelValueProblems(value));
  if (old && old.effect === effect) return;
  if (effect) yield* oneOf(`${path}.effect`, effect, effects);
  else yield required(`${path}.effect`);
}

export function* validateToleration({key, operator, value = '', effect}: Readonly<DeviceToleration>, path: string): Iterable<FieldError> {
  if (key) yield* qualifiedName(`${path}.key`, key);
  if (operator === 'Exists') {
    if (value) yield invalid(`${path}.value`, value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') yield* each(`${path}.value`, value, labelValueProblems(value));
  else if (!operator) yield required(`${path}.operator`);
  else yield* oneOf(`${path}.operator`, operator, operators);
  if (effect) yield* oneOf(`${path}.effect`, effect, effects);
}
