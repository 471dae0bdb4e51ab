// Counters that the devices of a pool share: a device that is allocated consumes them (KEP-4815).

import {addQuantities, compareQuantities, parseQuantity, subtractQuantities, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import type {Pool} from './pools.js';
import type {Device} from './types.js';

/**
 * What is left of the counters of a pool: allocated devices are subtracted at first, devices under consideration as
 * they come and go.
 */
export class PoolCounters {
  readonly #left = new Map<string, Quantity>();

  /** `isInUse` returns whether a device is allocated. */
  constructor(pool: Pool, isInUse: (device: string) => boolean) {
    for (const [set, {counters}] of pool.counterSets)
      for (const [name, {value}] of Object.entries(counters)) this.#left.set(`${set}/${name}`, parseQuantity(value));
    for (const {spec} of [...pool.slices, ...pool.others])
      for (const device of spec.devices ?? [])
        if (device.consumesCounters && isInUse(device.name)) this.#change(device, subtractQuantities);
  }

  /** Subtracts what a device consumes; returns false, and changes nothing, if too little is left. */
  take(device: Device): boolean {
    for (const {counterSet, counters} of device.consumesCounters ?? []) {
      for (const [name, {value}] of Object.entries(counters)) {
        if (compareQuantities(this.#left.get(`${counterSet}/${name}`) ?? zeroQuantity, parseQuantity(value)) < 0) return false;
      }
    }
    this.#change(device, subtractQuantities);
    return true;
  }

  /** Returns what `take` subtracted. */
  release(device: Device): void {
    this.#change(device, addQuantities);
  }

  #change({consumesCounters = []}: Device, by: (left: Quantity, amount: Quantity) => Quantity): void {
    for (const {counterSet, counters} of consumesCounters) {
      for (const [name, {value}] of Object.entries(counters)) {
        const key = `${counterSet}/${name}`;
        const left = this.#left.get(key);
        if (left) this.#left.set(key, by(left, parseQuantity(value)));
      }
    }
  }
}
