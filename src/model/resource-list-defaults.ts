import {formatQuantity, milliQuantity, parseQuantity, quantityMilliValue} from '#src/api/quantity.js';

/** Rounds the amounts of resource lists that are finer than a thousandth up to one. */
export const roundResourceLists = (...lists: readonly (Record<string, string> | undefined)[]): void => {
  for (const list of lists) {
    for (const [name, text] of Object.entries(list ?? {})) {
      const quantity = parseQuantity(text);
      if (quantity.exponent < -3) list![name] = formatQuantity(milliQuantity(quantityMilliValue(quantity), quantity.format));
    }
  }
};
