import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {ObjectFieldSelector, ResourceFieldSelector} from '#src/api/pod.js';
import {formatQuantity, parseQuantity} from '#src/api/quantity.js';
import {each} from '#src/resources/validation/values.js';

/** Pod fields available to environment variables. */
export const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** Pod fields available to files. */
export const fileFields = ['metadata.annotations', 'metadata.labels', 'metadata.name', 'metadata.namespace', 'metadata.uid'];

/** Field labels known to the downward API. */
const downwardFields = new Set([
  ...environmentFields,
  ...fileFields,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'spec.host',
]);

/** Parses `metadata.labels['key']`. */
const subscripted = (path: string): readonly [path: string, key: string] | undefined => {
  const [, field, key] = /^([^[]*)\['(.*)'\]$/.exec(path) ?? [];
  return field !== undefined && key !== undefined ? [field, key] : undefined;
};

/** Validates a reference to a pod field (the API reference, downward API). */
export function* validateFieldRef(
  {apiVersion, fieldPath}: ObjectFieldSelector,
  known: readonly string[],
  path: string,
): Iterable<FieldError> {
  if (!apiVersion) return yield required(`${path}.apiVersion`);
  if (!fieldPath) return yield required(`${path}.fieldPath`);
  if (apiVersion !== 'v1')
    return yield invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`);
  const [field, key] = subscripted(fieldPath) ?? [fieldPath];
  const convertible = key === undefined ? downwardFields.has(field) : field === 'metadata.annotations' || field === 'metadata.labels';
  if (key !== undefined && !convertible) {
    return yield invalid(
      `${path}.fieldPath`,
      fieldPath,
      downwardFields.has(field)
        ? `error converting fieldPath: field label does not support subscript: ${fieldPath}`
        : `error converting fieldPath: field label not supported: ${fieldPath}`,
    );
  }
  if (!convertible)
    return yield invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`);
  if (key !== undefined)
    yield* each(
      path,
      field === 'metadata.annotations' ? key.toLowerCase() : key,
      labelKeyProblems(field === 'metadata.annotations' ? key.toLowerCase() : key),
    );
  else if (!known.includes(field)) yield notSupported(`${path}.fieldPath`, field, known);
}

const containerResources = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const isHugePages = (resource: string): boolean => resource.startsWith('limits.hugepages-') || resource.startsWith('requests.hugepages-');
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Returns the divisors of a resource and its name in errors; undefined for unsupported resources. */
const divisorsOf = (resource: string): {readonly divisors: readonly string[]; readonly what: string} | undefined => {
  if (resource.endsWith('.cpu')) return {divisors: ['1m', '1'], what: 'cpu'};
  if (resource.endsWith('.memory')) return {divisors: byteDivisors, what: 'memory'};
  if (resource.endsWith('.ephemeral-storage')) return {divisors: byteDivisors, what: 'local ephemeral storage'};
  return isHugePages(resource) ? {divisors: byteDivisors, what: 'hugepages'} : undefined;
};

function* divisor(resource: string, text: string | undefined, path: string): Iterable<FieldError> {
  if (text === undefined) return;
  const quantity = parseQuantity(text);
  const found = divisorsOf(resource);
  if (quantity.unscaled === 0n || !found || found.divisors.includes(formatQuantity(quantity))) return;
  const shown = found.what === 'cpu' ? '1m and 1' : byteDivisors.join(', ');
  yield invalid(`${path}.divisor`, resource, `only divisor's values ${shown} are supported with the ${found.what} resource`);
}

/** Validates a reference to a container's resource; a file must name its container. */
export function* validateResourceFieldRef(ref: ResourceFieldSelector, path: string, ofFile: boolean): Iterable<FieldError> {
  const {containerName, resource} = ref;
  if (ofFile && !containerName) yield required(`${path}.containerName`);
  else if (!resource) yield required(`${path}.resource`);
  else if (!containerResources.includes(resource) && !isHugePages(resource))
    yield notSupported(`${path}.resource`, resource, containerResources);
  yield* divisor(resource ?? '', ref.divisor, path);
}
