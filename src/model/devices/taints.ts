// Taints of devices: those in slices and those of rules, and which requests tolerate them (KEP-5055).

import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

type Result = NonNullable<
  NonNullable<NonNullable<NonNullable<ObjectOf<typeof kinds.resourceClaims>['status']>['allocation']>['devices']>['results']
>[number];

export type DeviceTaintRule = ObjectOf<typeof kinds.deviceTaintRules>;
export type DeviceTaint = Frozen<DeviceTaintRule['spec']['taint']>;
export type DeviceToleration = Frozen<NonNullable<Result['tolerations']>[number]>;

/** The names of a device. */
export interface DeviceId {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

/** Returns a text that identifies a device. */
export const deviceIdText = ({driver, pool, device}: DeviceId): string => `${driver}/${pool}/${device}`;

/** Whether a toleration matches a taint. An empty effect or key matches all. */
export const toleratesTaint = ({effect, key, operator, value}: DeviceToleration, taint: DeviceTaint): boolean => {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (!operator || operator === 'Equal') return (value ?? '') === (taint.value ?? '');
  return operator === 'Exists';
};

/** Whether a rule taints a device. A field that is not set matches all, no selector none. */
export const ruleSelects = ({spec}: Frozen<DeviceTaintRule>, {driver, pool, device}: DeviceId): boolean => {
  const {deviceSelector: selector} = spec;
  if (!selector) return false;
  return (
    (selector.driver === undefined || selector.driver === driver) &&
    (selector.pool === undefined || selector.pool === pool) &&
    (selector.device === undefined || selector.device === device)
  );
};
