// Devices that are ready for a pod only once conditions in the claim's status are true (KEP-5007).

import {parseTime} from '#src/api/time.js';
import type {Claim} from './types.js';

/** Whether all conditions of the claim's devices are true, or why one has failed. */
export const isReadyForBinding = ({metadata, status}: Claim): boolean | string => {
  if (!status?.allocation) return false;
  for (const {driver, pool, device, shareID, bindingConditions = [], bindingFailureConditions = []} of status.allocation.devices?.results ??
    []) {
    if (bindingConditions.length === 0) continue;
    const found = status.devices?.find(
      each => each.driver === driver && each.pool === pool && each.device === device && each.shareID === shareID,
    );
    if (!found) return false;
    const isTrue = (type: string) => found.conditions?.find(each => each.type === type && each.status === 'True');
    const failed = bindingFailureConditions.map(isTrue).find(each => each !== undefined);
    if (failed) return `claim ${metadata?.name} binding failed: reason=${failed.reason}, message=${JSON.stringify(failed.message)}`;
    if (!bindingConditions.every(isTrue)) return false;
  }
  return true;
};

/** Whether a claim has devices with such conditions. */
export const hasBindingConditions = ({status}: Claim): boolean =>
  status?.allocation?.devices?.results?.some(({bindingConditions}) => (bindingConditions?.length ?? 0) > 0) ?? false;

/** Whether the devices of a claim have not become ready in time. */
export const isBindingTimedOut = (claim: Claim, timeoutMs: number, now: number): boolean => {
  const allocatedAt = parseTime(claim.status?.allocation?.allocationTimestamp);
  return hasBindingConditions(claim) && allocatedAt !== undefined && allocatedAt + timeoutMs < now;
};
