import type {Naming} from '#src/api/naming.js';
import {parseQuantity, QuantityError, quantityMilliValue, quantityValue, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {hugePages, isExtendedResource, isHugePages, isNativeResource} from '#src/model/resource-names.js';

const integers = ['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps', 'persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'];
const compute = ['cpu', 'memory', 'ephemeral-storage'];
const standard: ReadonlySet<string> = new Set([
  ...compute,
  ...compute.map(name => `requests.${name}`),
  ...compute.map(name => `limits.${name}`),
  ...integers,
  'storage',
  'requests.storage',
]);

/** A resource of the platform's own, or a quota's way to speak of one. */
export const isStandardResource = (name: string): boolean => standard.has(name) || isHugePages(name) || name.startsWith(`requests.${hugePages}`);
export const isContainerResource = (name: string): boolean => compute.includes(name) || isHugePages(name);

/** Whether more of the resource may be promised than there is. */
export const mayOvercommit = (name: string, naming: Naming): boolean => isNativeResource(name, naming) && !isHugePages(name);
/** Whether the resource comes in whole numbers only. */
export const isIntegerResource = (name: string, naming: Naming): boolean => integers.includes(name) || isExtendedResource(name, naming);

/** A quantity of an object, which decoding has judged already; one that is none counts as nothing. */
export const quantityIn = (text: unknown): Quantity => {
  try {
    return parseQuantity(String(text));
  } catch (error) {
    if (error instanceof QuantityError) return zeroQuantity;
    throw error;
  }
};

export const isWholeQuantity = (quantity: Quantity): boolean => quantityMilliValue(quantity) % 1000n === 0n;

/** Whether an amount of huge pages is a whole number of pages of the size in the resource's name. */
export const isWholePages = (name: string, amount: Quantity): boolean => {
  const size = quantityIn(name.slice(hugePages.length));
  return size.unscaled > 0n && isWholeQuantity(size) && quantityValue(amount) % quantityValue(size) === 0n;
};
