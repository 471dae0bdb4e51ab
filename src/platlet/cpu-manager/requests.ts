// The exclusive CPUs that containers request. Pure.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityMilliValue, quantityValue} from '#src/api/quantity.js';
import {podQosClass} from '#src/model/pod/qos.js';
import {isSidecar} from '#src/model/pod/restart.js';

/** Whether a pod has resources of its own, for all containers together: its containers get none exclusively. */
export const hasPodResources = ({spec}: Frozen<Pod>): boolean =>
  Object.keys(spec?.resources?.requests ?? {}).length > 0 || Object.keys(spec?.resources?.limits ?? {}).length > 0;

/** Returns the number of CPUs that a container gets exclusively: whole CPUs of Guaranteed pods. */
export const exclusiveCpusOf = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): number => {
  const text = container.resources?.requests?.['cpu'];
  if (text === undefined || podQosClass(pod as Pod) !== 'Guaranteed') return 0;
  const cpu = parseQuantity(text);
  const whole = quantityValue(cpu);
  return whole * 1000n === quantityMilliValue(cpu) ? Number(whole) : 0;
};

/**
 * Returns what the containers of a pod need together: init containers run one after the other, beside the sidecars that
 * were started before.
 */
export const neededAtOnce = ({spec}: Frozen<Pod>, amountOf: (container: Frozen<AnyContainer>) => number): number => {
  let [sidecars, duringInit] = [0, 0];
  for (const container of spec?.initContainers ?? []) {
    const amount = amountOf(container);
    if (isSidecar(container)) sidecars += amount;
    else duringInit = Math.max(duringInit, sidecars + amount);
  }
  return Math.max(duringInit, sidecars + (spec?.containers ?? []).reduce((sum, container) => sum + amountOf(container), 0));
};
