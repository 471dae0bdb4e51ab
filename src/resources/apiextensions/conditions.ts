import {wireTime} from '#src/api/time.js';
import type {Definition, Condition, Status} from './types.js';

type ConditionUpdate = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
/** A definition as caches have it. */
type WithConditions = {readonly status?: {readonly conditions?: readonly Readonly<Condition>[] | null} | undefined};

/** Returns the condition of a type. */
export const conditionOf = ({status}: WithConditions, type: string): Readonly<Condition> | undefined =>
  status?.conditions?.find(condition => condition.type === type);

/** Reports whether a condition is `True`. */
export const isTrue = (definition: WithConditions, type: string): boolean => conditionOf(definition, type)?.status === 'True';

/** Reports whether the definition already has this condition. */
export const hasCondition = (definition: WithConditions, {type, status, reason, message}: ConditionUpdate): boolean => {
  const old = conditionOf(definition, type);
  return old !== undefined && old.status === status && (old.reason ?? '') === reason && (old.message ?? '') === message;
};

/** Sets a condition; its transition time changes only with its status. */
export const setCondition = (definition: Definition, update: ConditionUpdate, now: number): void => {
  const status = (definition.status ??= {} as Status);
  const conditions = [...(status.conditions ?? [])];
  const index = conditions.findIndex(({type}) => type === update.type);
  const old = conditions[index];
  const moved = !old || old.status !== update.status || !old.lastTransitionTime;
  const next = {...old, ...update, lastTransitionTime: moved ? wireTime(now) : old.lastTransitionTime} as Condition;
  if (old) conditions[index] = next;
  else conditions.push(next);
  status.conditions = conditions;
};
