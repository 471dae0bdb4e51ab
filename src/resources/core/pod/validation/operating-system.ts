import {forbiddenField, notSupported, required, type FieldError} from '#src/api/field-error.js';
import type {PodSpec} from '#src/api/pod.js';
import {everyContainer} from './every-container.js';

/** Fields of one operating system only, in the order of their errors; those with a dot are in the security context. */
const linuxOfPod = [
  '.appArmorProfile',
  '.seLinuxOptions',
  'hostUsers',
  'hostPID',
  'hostIPC',
  '.seccompProfile',
  '.fsGroup',
  '.fsGroupChangePolicy',
  '.sysctls',
  'shareProcessNamespace',
  '.runAsUser',
  '.runAsGroup',
  '.supplementalGroups',
  '.supplementalGroupsPolicy',
  '.seLinuxChangePolicy',
];
const linuxOfContainer = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

const isSet = (value: unknown): boolean => value !== undefined && !(Array.isArray(value) && value.length === 0);

function* linux(spec: PodSpec, path: string): Iterable<FieldError> {
  const text = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions) yield forbiddenField(`${path}.securityContext.windowsOptions`, text);
  for (const {container, path: at} of everyContainer(spec, path)) {
    if (container.securityContext?.windowsOptions) yield forbiddenField(`${at}.securityContext.windowsOptions`, text);
  }
}

function* windows(spec: PodSpec, path: string): Iterable<FieldError> {
  const text = 'cannot be set for a windows pod';
  const own = spec as unknown as Readonly<Record<string, unknown>>;
  const context = (spec.securityContext ?? {}) as Readonly<Record<string, unknown>>;
  for (const field of linuxOfPod) {
    const nested = field.startsWith('.');
    const value = nested ? context[field.slice(1)] : own[field];
    if (isSet(value) && !(field.startsWith('host') && field !== 'hostUsers' && value === false))
      yield forbiddenField(nested ? `${path}.securityContext${field}` : `${path}.${field}`, text);
  }
  for (const {container, path: at} of everyContainer(spec, path)) {
    for (const field of linuxOfContainer) {
      if (container.securityContext?.[field] !== undefined) yield forbiddenField(`${at}.securityContext.${field}`, text);
    }
  }
}

/** Validates the pod's operating system and the fields that the other one has. */
export function* validateOs(spec: PodSpec, path: string): Iterable<FieldError> {
  if (!spec.os) return;
  const {name} = spec.os;
  if (!name) yield required(`${path}.os.name`);
  else if (name === 'linux') yield* linux(spec, path);
  else if (name === 'windows') yield* windows(spec, path);
  else yield notSupported(`${path}.os`, name, ['linux', 'windows']);
}
