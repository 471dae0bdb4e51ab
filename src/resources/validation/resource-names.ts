import type {Naming} from '#src/api/naming.js';
import {parseQuantity, QuantityError, quantityMilliValue, quantityValue, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {hugePages, isExtendedResource, isHugePages, isNativeResource} from '#src/model/resource-names.js';

// Properties of resource names: built-in, integer, overcommit, huge pages.

const integers = [
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
];
const compute = ['cpu', 'memory', 'ephemeral-storage'];
const standard: ReadonlySet<string> = new Set([
  ...compute,
  ...compute.map(name => `requests.${name}`),
  ...compute.map(name => `limits.${name}`),
  ...integers,
  'storage',
  'requests.storage',
]);

/** Reports whether the resource is a built-in one, or a quota resource. */
export const isStandardResource = (name: string): boolean =>
  standard.has(name) || isHugePages(name) || name.startsWith(`requests.${hugePages}`);
export const isContainerResource = (name: string): boolean => compute.includes(name) || isHugePages(name);

/** Reports whether requests of the resource may be below its limits. */
export const mayOvercommit = (name: string, naming: Naming): boolean => isNativeResource(name, naming) && !isHugePages(name);
/** Reports whether amounts of the resource are integers. */
export const isIntegerResource = (name: string, naming: Naming): boolean => integers.includes(name) || isExtendedResource(name, naming);

/** Parses a quantity of a decoded object; an invalid one counts as zero. */
export const quantityIn = (text: unknown): Quantity => {
  try {
    return parseQuantity(String(text));
  } catch (error) {
    if (error instanceof QuantityError) return zeroQuantity;
    throw error;
  }
};

export const isWholeQuantity = (quantity: Quantity): boolean => quantityMilliValue(quantity) % 1000n === 0n;

/** Reports whether an amount of huge pages is a multiple of the page size in the resource's name. */
export const isWholePages = (name: string, amount: Quantity): boolean => {
  const size = quantityIn(name.slice(hugePages.length));
  return size.unscaled > 0n && isWholeQuantity(size) && quantityValue(amount) % quantityValue(size) === 0n;
};
