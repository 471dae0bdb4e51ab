// Defaults and validation of an autoscaler's behavior (KEP-853).

import {invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {parseQuantity} from '#src/api/quantity.js';
import type {AutoscalerSpec} from './metrics.js';

export type Behavior = NonNullable<AutoscalerSpec['behavior']>;
type Rules = NonNullable<Behavior['scaleUp']>;
type Policy = NonNullable<Rules['policies']>[number];

const longestPeriod = 1800;
const longestWindow = 3600;
const selections = ['Disabled', 'Max', 'Min'];
const policyTypes = ['Percent', 'Pods'];

/** Applies the defaults of a behavior that is set (KEP-853). */
export const defaultBehavior = (behavior: Behavior): void => {
  behavior.scaleUp = {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [
      {type: 'Pods', value: 4, periodSeconds: 15},
      {type: 'Percent', value: 100, periodSeconds: 15},
    ],
    ...behavior.scaleUp,
  };
  behavior.scaleDown = {selectPolicy: 'Max', policies: [{type: 'Percent', value: 100, periodSeconds: 15}], ...behavior.scaleDown};
};

function* validatePolicy({type, value, periodSeconds: period}: Policy, path: string): Iterable<FieldError> {
  if (!policyTypes.includes(type)) yield notSupported(`${path}.type`, type ?? '', policyTypes);
  if ((value ?? 0) <= 0) yield invalid(`${path}.value`, value ?? 0, 'must be greater than zero');
  if ((period ?? 0) <= 0) yield invalid(`${path}.periodSeconds`, period ?? 0, 'must be greater than zero');
  if (period > longestPeriod) yield invalid(`${path}.periodSeconds`, period, `must be less than or equal to ${longestPeriod}`);
}

const isNegative = (text: string): boolean => {
  try {
    return parseQuantity(String(text)).unscaled < 0n;
  } catch {
    return false;
  }
};

function* validateRules(rules: Rules, path: string): Iterable<FieldError> {
  const {stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance} = rules;
  if (typeof window === 'number' && window < 0)
    yield invalid(`${path}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero');
  if (typeof window === 'number' && window > longestWindow)
    yield invalid(`${path}.stabilizationWindowSeconds`, window, `must be less than or equal to ${longestWindow}`);
  if (selectPolicy !== undefined && !selections.includes(selectPolicy))
    yield notSupported(`${path}.selectPolicy`, selectPolicy, selections);
  if (policies.length === 0) yield required(`${path}.policies`, 'must specify at least one Policy');
  for (const [i, policy] of policies.entries()) yield* validatePolicy(policy, `${path}.policies[${i}]`);
  if (tolerance !== undefined && isNegative(tolerance)) yield invalid(`${path}.tolerance`, tolerance, 'must be greater than or equal to 0');
}

/** Validates the scaling rules. */
export function* validateBehavior(behavior: Behavior | undefined, path: string): Iterable<FieldError> {
  for (const way of ['scaleUp', 'scaleDown'] as const) {
    const rules = behavior?.[way];
    if (rules) yield* validateRules(rules, `${path}.${way}`);
  }
}

/** Drops tolerances while their gate is off, unless they are in use (KEP-4951). */
export const dropTolerances = (behavior: Behavior | undefined, old: Behavior | undefined, gate: (name: string) => boolean): void => {
  if (gate('HPAConfigurableTolerance') || old?.scaleUp?.tolerance !== undefined || old?.scaleDown?.tolerance !== undefined) return;
  for (const rules of [behavior?.scaleUp, behavior?.scaleDown]) if (rules) delete rules.tolerance;
};
