import {tooMany, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import type {Condition, KubeObject} from '#src/api/types.js';
import {ageColumn, nameColumn, since} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {validateConditions} from '#src/resources/validation/conditions.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {dnsLabel} from '#src/resources/validation/values.js';
import {driverName, poolName} from './names.js';
import {validateTaint, type DeviceTaint} from './taints.js';

interface DeviceTaintRule extends KubeObject {
  spec: {deviceSelector?: {driver?: string; pool?: string; device?: string}; taint: DeviceTaint};
  status?: {conditions?: Condition[]};
}

const maxConditions = 8;

function* validate({spec}: Readonly<DeviceTaintRule>, old: Readonly<DeviceTaintRule> | undefined): Iterable<FieldError> {
  const {driver, pool, device} = spec.deviceSelector ?? {};
  const path = 'spec.deviceSelector';
  if (driver !== undefined) yield* driverName(`${path}.driver`, driver);
  if (pool !== undefined) yield* poolName(`${path}.pool`, pool);
  if (device !== undefined) yield* dnsLabel(`${path}.device`, device);
  yield* validateTaint(spec.taint, 'spec.taint', old?.spec.taint);
}

/** DeviceTaintRule: taints the devices an administrator selects, on any node. */
export const deviceTaintRules = defineResource<DeviceTaintRule>({
  kind: kinds.deviceTaintRules,
  storage: {alwaysPresent: {spec: {taint: {key: '', effect: ''}}, status: {}}},
  metadata: {nameProblems: subdomainName, generation: true},
  default(rule) {
    rule.spec ??= {taint: {key: '', effect: ''}};
    rule.spec.taint ??= {key: '', effect: ''};
  },
  main: {
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({spec: {taint}}, old, {clock}) {
      const before = old?.spec.taint;
      // A changed effect gets a new time, for tolerations that end after a while.
      const renewed = before !== undefined && before.effect !== taint.effect && before.timeAdded === taint.timeAdded;
      if (renewed || !taint.timeAdded) taint.timeAdded = wireTime(clock.now());
    },
    validate,
  },
  subresources: {
    status: {
      writes: {update: ['status']},
      *validate({status}) {
        const conditions = status?.conditions ?? [];
        yield* validateConditions(conditions, 'status.conditions');
        if (conditions.length > maxConditions) yield tooMany('status.conditions', conditions.length, maxConditions);
      },
    },
  },
  deletion: {response: 'object'},
  presentation: {
    columns: [
      nameColumn,
      {name: 'Key', description: 'The key of the taint.', of: ({spec}) => spec.taint.key},
      {name: 'Value', description: 'The value of the taint.', of: ({spec}) => spec.taint.value ?? ''},
      {name: 'Effect', description: 'What the taint does to pods that do not tolerate it.', of: ({spec}) => spec.taint.effect},
      {
        name: 'TimeAdded',
        description: 'Since when the taint counts.',
        of: ({spec: {taint}}, ago) => (taint.timeAdded ? since(taint.timeAdded, ago) : ''),
      },
      ageColumn,
    ],
  },
});
