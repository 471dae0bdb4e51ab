import {wireTime} from '#src/api/time.js';
import type {Autoscaler, ConditionText} from './limits.js';

export type Status = NonNullable<Autoscaler['status']>;
type Condition = NonNullable<Status['conditions']>[number];

/** Collects the conditions of an autoscaler during one sync. The time of a condition changes with its status. */
export class Conditions {
  readonly #conditions: Condition[];
  readonly #now: number;

  constructor(former: readonly Condition[], now: number) {
    this.#conditions = [...former];
    this.#now = now;
  }

  set(type: 'AbleToScale' | 'ScalingActive' | 'ScalingLimited', status: 'True' | 'False', {reason, message}: ConditionText): void {
    const index = this.#conditions.findIndex(condition => condition.type === type);
    const former = this.#conditions[index];
    const {lastTransitionTime = wireTime(this.#now)} = former?.status === status ? former : {};
    const next: Condition = {type, status, lastTransitionTime, reason, message};
    if (former) this.#conditions[index] = next;
    else this.#conditions.push(next);
  }

  get list(): Condition[] {
    return this.#conditions;
  }
}
