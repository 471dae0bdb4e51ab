import type {Frozen} from '#src/api/key.js';
import {wireTime} from '#src/api/time.js';
import type {Condition, KubeObject} from '#src/api/types.js';
import type {StatusChange} from './client/status-change.js';

type ConditionStatus = 'True' | 'False' | 'Unknown';

interface WithConditions {
  readonly conditions?: readonly Frozen<Condition>[];
}

/**
 * A status change that sets one condition (meta/v1 Condition) and leaves the others. `lastTransitionTime` changes only
 * with the condition's status, and `observedGeneration` is the generation of the object that was read. `reason` is
 * CamelCase.
 */
export const setCondition =
  (type: string, status: ConditionStatus, reason: string, message = ''): StatusChange =>
  (present, {object, now}) => {
    const {conditions = []} = present as WithConditions;
    const old = conditions.find(each => each.type === type);
    const generation = object.metadata?.generation;
    const condition: Frozen<Condition> = {
      type,
      status,
      reason,
      message,
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : wireTime(now),
      ...(generation === undefined ? {} : {observedGeneration: generation}),
    };
    return {...present, conditions: old ? conditions.map(each => (each === old ? condition : each)) : [...conditions, condition]};
  };

/** A status change that removes a condition. */
export const removeCondition =
  (type: string): StatusChange =>
  present => ({...present, conditions: ((present as WithConditions).conditions ?? []).filter(each => each.type !== type)});

/** Returns a condition of an object, from its status. */
export const conditionOf = (object: Frozen<KubeObject> | undefined, type: string): Frozen<Condition> | undefined =>
  (object as {readonly status?: WithConditions} | undefined)?.status?.conditions?.find(each => each.type === type);

/** Returns whether a condition of an object is `True`. */
export const isConditionTrue = (object: Frozen<KubeObject> | undefined, type: string): boolean =>
  conditionOf(object, type)?.status === 'True';
