import {duplicate, invalid, type FieldError} from '#src/api/field-error.js';
import {qualifiedName} from '#src/resources/validation/values.js';
import {list} from './collections.js';

const most = 4;

interface Binding {
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

/** Validates binding conditions and failure conditions of a device: both or neither, and no duplicates. */
export function* validateBinding(binding: Binding, path: string): Iterable<FieldError> {
  const {bindingConditions: good = [], bindingFailureConditions: bad = []} = binding;
  const [goodPath, badPath] = [`${path}.bindingConditions`, `${path}.bindingFailureConditions`];
  yield* list(goodPath, good, most, (name, at) => qualifiedName(at, name));
  yield* list(badPath, bad, most, (name, at) => qualifiedName(at, name));
  for (const [i, name] of good.entries()) if (good.indexOf(name) < i) yield duplicate(`${goodPath}[${i}]`, name);
  for (const [i, name] of bad.entries()) {
    if (bad.indexOf(name) < i) yield duplicate(`${badPath}[${i}]`, name);
    if (good.includes(name)) yield invalid(`${badPath}[${i}]`, name, 'bindingFailureConditions must not overlap with bindingConditions');
  }
  if (good.length === 0 && bad.length > 0)
    yield invalid(goodPath, binding.bindingConditions, 'bindingConditions are required to use bindingFailureConditions');
  if (bad.length === 0 && good.length > 0)
    yield invalid(badPath, binding.bindingFailureConditions, 'bindingFailureConditions are required to use bindingConditions');
}
