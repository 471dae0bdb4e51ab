import {wireTime} from '#src/api/time.js';
import type {Definition, Condition, Status} from './types.js';

type Said = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;
/** As caches hold it. */
type Held = {readonly status?: {readonly conditions?: readonly Readonly<Condition>[] | null} | undefined};

/** The condition of that type. */
export const conditionOf = ({status}: Held, type: string): Readonly<Condition> | undefined => status?.conditions?.find(condition => condition.type === type);

/** Whether the definition says yes to that. */
export const isTrue = (definition: Held, type: string): boolean => conditionOf(definition, type)?.status === 'True';

/** Whether it says that already. */
export const saysAlready = (definition: Held, {type, status, reason, message}: Said): boolean => {
  const old = conditionOf(definition, type);
  return old !== undefined && old.status === status && (old.reason ?? '') === reason && (old.message ?? '') === message;
};

/** Sets a condition; its time moves with its status alone. */
export const setCondition = (definition: Definition, said: Said, now: number): void => {
  const status = (definition.status ??= {} as Status);
  const conditions = [...(status.conditions ?? [])];
  const index = conditions.findIndex(({type}) => type === said.type);
  const old = conditions[index];
  const moved = !old || old.status !== said.status || !old.lastTransitionTime;
  const next = {...old, ...said, lastTransitionTime: moved ? wireTime(now) : old.lastTransitionTime} as Condition;
  if (old) conditions[index] = next;
  else conditions.push(next);
  status.conditions = conditions;
};
