import {wireTime} from '#src/api/time.js';
import type {DeploymentStatus} from './kinds.js';

export type DeploymentCondition = NonNullable<DeploymentStatus['conditions']>[number];
export type Conditions = readonly DeploymentCondition[];

/** Returns a condition with all times at `now`. */
export const condition = (
  type: string,
  status: 'True' | 'False' | 'Unknown',
  reason: string,
  message: string,
  now: number,
): DeploymentCondition => {
  const time = wireTime(now);
  return {type, status, lastUpdateTime: time, lastTransitionTime: time, reason, message};
};

export const conditionOf = (conditions: Conditions, type: string): DeploymentCondition | undefined =>
  conditions.find(each => each.type === type);

export const withoutCondition = (conditions: Conditions, type: string): Conditions =>
  conditionOf(conditions, type) ? conditions.filter(each => each.type !== type) : conditions;

/**
 * Returns the conditions with `next` set. An equal status and reason leaves the condition unchanged; an equal status
 * keeps its transition time.
 */
export const withCondition = (conditions: Conditions, next: DeploymentCondition): Conditions => {
  const former = conditionOf(conditions, next.type);
  if (former && former.status === next.status && former.reason === next.reason) return conditions;
  const {lastTransitionTime = next.lastTransitionTime} = former?.status === next.status ? former : {};
  return [...withoutCondition(conditions, next.type), {...next, ...(lastTransitionTime === undefined ? {} : {lastTransitionTime})}];
};
