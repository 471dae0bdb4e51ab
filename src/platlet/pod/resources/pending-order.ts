// The order in which pending resizes are tried. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, zeroQuantity} from '#src/api/quantity.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {podRequests} from '#src/model/pod/requests.js';

/** A resize that is not allocated. */
export interface PendingResize {
  readonly desired: Frozen<Pod>;
  readonly allocated: Frozen<Pod>;
  /** Since when it is known to be pending; undefined if it was not tried. */
  readonly since: number | undefined;
}

const isIncrease = ({desired, allocated}: PendingResize): boolean => {
  const [wanted, given] = [desired, allocated].map(pod => podRequests(pod, {podLevel: true}));
  return ['cpu', 'memory'].some(name => compareQuantities(wanted!.get(name) ?? zeroQuantity, given!.get(name) ?? zeroQuantity) > 0);
};

/**
 * Compares two pending resizes: those that ask for no more come first, then those of pods with a higher priority, of
 * Guaranteed pods, and those that have been pending longer.
 */
export const comparePending = (a: PendingResize, b: PendingResize): number =>
  Number(isIncrease(a)) - Number(isIncrease(b)) ||
  (b.desired.spec?.priority ?? 0) - (a.desired.spec?.priority ?? 0) ||
  Number(podQosClass(b.desired as Pod) === 'Guaranteed') - Number(podQosClass(a.desired as Pod) === 'Guaranteed') ||
  (a.since ?? Infinity) - (b.since ?? Infinity) ||
  0;
