import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import type {PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {compareQuantities, formatQuantity} from '#src/api/quantity.js';
import {containerLimits, containerRequests} from '#src/model/pod/requests.js';
import {podResourceName, validateResources} from '#src/resources/validation/resource-lists.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {isHugePages} from '#src/model/resource-names.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import type {PodSpecRules} from './rules.js';

function* wholeAndParts(spec: PodSpec, {requests = {}, limits = {}}: ResourceRequirements, path: string): Iterable<FieldError> {
  for (const [name, sum] of containerRequests(spec)) {
    const whole = requests[name];
    if (whole === undefined || compareQuantities(sum, quantityIn(whole)) <= 0) continue;
    yield invalid(
      `${path}.requests[${name}]`,
      whole,
      `must be greater than or equal to aggregate container requests of ${formatQuantity(sum)}`,
    );
  }
  for (const [name, sum] of containerLimits(spec)) {
    const whole = limits[name];
    if (!isHugePages(name) || whole === undefined || compareQuantities(sum, quantityIn(whole)) <= 0) continue;
    yield invalid(
      `${path}.limits[${name}]`,
      whole,
      `must be greater than or equal to aggregate container limits of ${formatQuantity(sum)}`,
    );
  }
  for (const [i, container] of (spec.containers ?? []).entries()) {
    for (const [name, limit] of Object.entries(container.resources?.limits ?? {})) {
      const whole = limits[name];
      if (whole === undefined || compareQuantities(quantityIn(limit), quantityIn(whole)) <= 0) continue;
      yield invalid(`${path}.containers[${i}][${name}].limits`, limit, `must be less than or equal to pod limits of ${whole}`);
    }
  }
}

/** Validates pod-level resources (KEP-2837). */
export function* validatePodResources(
  spec: PodSpec,
  path: string,
  claims: ReadonlySet<string>,
  {naming, allow}: PodSpecRules,
): Iterable<FieldError> {
  const {resources} = spec;
  if (!resources) return;
  if (spec.os?.name === 'windows') return yield forbiddenField(path, 'may not be set for a windows pod');
  if (resources.claims || givenEmpty(resources, 'claims'))
    yield forbiddenField(`${path}.claims`, 'claims may not be set for Resources at pod-level');
  yield* validateResources(path, resources, {naming, claims, partialPages: allow.partialHugePages, name: podResourceName});
  yield* wholeAndParts(spec, resources, path);
}
