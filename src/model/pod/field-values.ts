// The values of a pod that its containers may see: in their environment, and in volumes of the downward API.

import type {Frozen} from '#src/api/key.js';
import type {Container, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityMilliValue, quantityValue, zeroQuantity, type Quantity} from '#src/api/quantity.js';

const mapField = /^metadata\.(labels|annotations)\['(.+)'\]$/;

/** Returns the lines `key="value"` of labels or annotations, sorted by key. */
const mapText = (values: Readonly<Record<string, string>>): string =>
  Object.keys(values)
    .sort()
    .map(key => `${key}=${JSON.stringify(values[key])}`)
    .join('\n');

/** Returns the value of a field of a pod's metadata or spec; undefined for any other field. */
export const podFieldValue = ({metadata, spec}: Frozen<Pod>, path: string): string | undefined => {
  const [, map, key = ''] = mapField.exec(path) ?? [];
  if (map) return metadata?.[map as 'labels' | 'annotations']?.[key] ?? '';
  switch (path) {
    case 'metadata.name':
    case 'metadata.namespace':
    case 'metadata.uid':
      return metadata?.[path.slice('metadata.'.length) as 'name' | 'namespace' | 'uid'] ?? '';
    case 'metadata.labels':
    case 'metadata.annotations':
      return mapText(metadata?.[path.slice('metadata.'.length) as 'labels' | 'annotations'] ?? {});
    case 'spec.nodeName':
    case 'spec.serviceAccountName':
      return spec?.[path.slice('spec.'.length) as 'nodeName' | 'serviceAccountName'] ?? '';
    default:
      return undefined;
  }
};

/** What a container gets of these resources, where it has no limit of its own. */
const defaultLimits = new Set(['cpu', 'memory', 'ephemeral-storage']);

const quotient = (amount: Quantity, divisor: Quantity, valueOf: (of: Quantity) => bigint): bigint => {
  const by = valueOf(divisor) || valueOf(parseQuantity('1'));
  return (valueOf(amount) + by - 1n) / by;
};

/**
 * Returns a request or limit of a container, such as `limits.cpu`, divided and rounded up; undefined for other fields.
 */
export const resourceFieldValue = (
  {resources}: Pick<Frozen<Container>, 'resources'>,
  field: string,
  divisor = '1',
  allocatable: Readonly<Record<string, string>> = {},
): string | undefined => {
  const [, list, name = ''] = /^(limits|requests)\.(.+)$/.exec(field) ?? [];
  if (!list) return undefined;
  const own = resources?.[list as 'limits' | 'requests']?.[name];
  const isUnset = own === undefined || parseQuantity(own).unscaled === 0n;
  const text = isUnset && list === 'limits' && defaultLimits.has(name) ? (allocatable[name] ?? own) : own;
  const amount = text === undefined ? zeroQuantity : parseQuantity(text);
  return String(quotient(amount, parseQuantity(divisor), name === 'cpu' ? quantityMilliValue : quantityValue));
};
