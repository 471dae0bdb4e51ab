import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec, SeccompProfile, Toleration} from '#src/api/pod.js';
import {everyContainer} from './every-container.js';
import {validateDescendingPath} from '#src/resources/validation/paths.js';
import type {PodSpecRules} from './rules.js';
import {validateTolerations} from './scheduling.js';

// Annotations of pods: deletion cost, mirror pods, and the deprecated profile annotations that must agree with the
// fields that replaced them.

type Annotations = Readonly<Record<string, string>>;

const keysOf = (naming: Naming) => ({
  /** Marks a mirror pod, whose original runs on the node without the server. */
  mirror: naming.key('config.mirror'),
  deletionCost: naming.subKey('controller', 'pod-deletion-cost'),
  tolerations: naming.subKey('scheduler.alpha', 'tolerations'),
  seccompPod: naming.subKey('seccomp.security.alpha', 'pod'),
  seccompContainer: `container.${naming.subKey('seccomp.security.alpha', '')}`,
  appArmor: `container.${naming.subKey('apparmor.security.beta', '')}`,
});

type PodAnnotations = Readonly<ReturnType<typeof keysOf>>;

const keysByNaming = new WeakMap<Naming, PodAnnotations>();

/** Returns the annotation keys of pods. */
export const podAnnotations = (naming: Naming): PodAnnotations => {
  let keys = keysByNaming.get(naming);
  if (!keys) keysByNaming.set(naming, (keys = keysOf(naming)));
  return keys;
};

const isInt32 = (text: string): boolean => /^(0|-?[1-9]\d*)$/.test(text) && Number(text) >= -2147483648 && Number(text) <= 2147483647;

/** Reports whether the deletion cost annotation is a valid number. */
export const hasDeletionCost = (annotations: Annotations | undefined, naming: Naming): boolean => {
  const cost = annotations?.[podAnnotations(naming).deletionCost];
  return cost === undefined || isInt32(cost);
};

const parsed = (text: string): readonly Toleration[] | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as Toleration[]) : undefined;
  } catch {
    return undefined;
  }
};

/** Returns the AppArmor profile of a deprecated annotation. */
export const appArmorOf = (annotation: string): {readonly type: string; readonly localhostProfile?: string} | undefined => {
  if (annotation === 'unconfined') return {type: 'Unconfined'};
  if (annotation === 'runtime/default') return {type: 'RuntimeDefault'};
  const file = annotation.startsWith('localhost/') ? annotation.slice('localhost/'.length) : '';
  return file ? {type: 'Localhost', localhostProfile: file} : undefined;
};

const seccompNames = ['runtime/default', 'docker/default', 'unconfined'];

function* seccompName(name: string, path: string): Iterable<FieldError> {
  if (seccompNames.includes(name)) return;
  if (name.startsWith('localhost/')) yield* validateDescendingPath(path, name.slice('localhost/'.length));
  else yield invalid(path, name, 'must be a valid seccomp profile');
}

/** Validates the known annotations of a pod. */
export function* validatePodAnnotations(
  annotations: Annotations = {},
  spec: PodSpec,
  path: string,
  {naming, allow}: PodSpecRules,
): Iterable<FieldError> {
  const keys = podAnnotations(naming);
  const mirror = annotations[keys.mirror];
  if (mirror !== undefined && !spec.nodeName)
    yield invalid(`${path}[${keys.mirror}]`, mirror, 'must set spec.nodeName if mirror pod annotation is set');
  const tolerations = annotations[keys.tolerations];
  if (tolerations) {
    const list = parsed(tolerations);
    if (list) yield* validateTolerations(list, `${path}.${keys.tolerations}`, allow.comparingTolerations);
    else yield invalid(path, keys.tolerations, 'json: cannot unmarshal into tolerations');
  }
  if (!allow.deletionCost && !hasDeletionCost(annotations, naming))
    yield invalid(`${path}[${keys.deletionCost}]`, annotations[keys.deletionCost], 'must be a 32bit integer');
  for (const [key, value] of Object.entries(annotations)) {
    if (key === keys.seccompPod || key.startsWith(keys.seccompContainer)) yield* seccompName(value, `${path}.${key}`);
    if (key.startsWith(keys.appArmor)) yield* appArmorName(key, value, spec, `${path}[${key}]`, keys.appArmor);
  }
}

function* appArmorName(key: string, value: string, spec: PodSpec, path: string, prefix: string): Iterable<FieldError> {
  const name = key.slice(prefix.length);
  if (!everyContainer(spec).some(({container}) => container.name === name)) yield invalid(path, name, 'container not found');
  if (value === '' || value === 'runtime/default' || value === 'unconfined' || value.startsWith('localhost/')) return;
  yield invalid(path, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`);
}

interface Profile {
  readonly type: string;
  readonly localhostProfile?: string;
}

/** Validates that a deprecated annotation equals the field that replaced it. */
function* sameProfile(
  annotation: string,
  {type, localhostProfile}: Profile,
  path: string,
  what: 'seccomp' | 'apparmor',
  defaults: readonly string[],
): Iterable<FieldError> {
  const mismatch = forbiddenField(`${path}.type`, `${what} type in annotation and field must match`);
  if (type === 'Unconfined' && annotation !== 'unconfined') yield mismatch;
  else if (type === 'RuntimeDefault' && !defaults.includes(annotation)) yield mismatch;
  else if (type === 'Localhost') {
    if (!annotation.startsWith('localhost/')) yield mismatch;
    else if (annotation.slice('localhost/'.length) !== localhostProfile)
      yield forbiddenField(`${path}.localhostProfile`, `${what} profile in annotation and field must match`);
  }
}

function* seccompMatches(annotation: string | undefined, profile: SeccompProfile | undefined, path: string): Iterable<FieldError> {
  if (annotation === undefined || !profile) return;
  yield* sameProfile(annotation, profile, path, 'seccomp', ['runtime/default', 'docker/default']);
}

/** Validates at creation that annotations and fields have the same profiles. */
export function* validateProfilesMatch(annotations: Annotations = {}, spec: PodSpec, path: string, naming: Naming): Iterable<FieldError> {
  const keys = podAnnotations(naming);
  yield* seccompMatches(annotations[keys.seccompPod], spec.securityContext?.seccompProfile, `${path}.securityContext.seccompProfile`);
  for (const {container, path: at} of everyContainer(spec, path)) {
    yield* seccompMatches(
      annotations[`${keys.seccompContainer}${container.name}`],
      container.securityContext?.seccompProfile,
      `${at}.securityContext.seccompProfile`,
    );
  }
  if (spec.os?.name === 'windows') return;
  for (const {container, path: at} of everyContainer(spec, path)) {
    const profile = container.securityContext?.appArmorProfile ?? spec.securityContext?.appArmorProfile;
    const annotation = annotations[`${keys.appArmor}${container.name}`];
    if (profile && annotation !== undefined)
      yield* sameProfile(annotation, profile, `${at}.securityContext.appArmorProfile`, 'apparmor', ['runtime/default']);
  }
}

/** Validates that annotations about the running pod do not change. */
export function* validatePodAnnotationUpdate(pod: Readonly<Pod>, {metadata}: Readonly<Pod>, rules: PodSpecRules): Iterable<FieldError> {
  const path = 'metadata.annotations';
  const annotations: Annotations = pod.metadata?.annotations ?? {};
  const old: Annotations = metadata?.annotations ?? {};
  const {mirror, appArmor} = podAnnotations(rules.naming);
  for (const [key, value] of Object.entries(old)) {
    if (annotations[key] === value) continue;
    if (key.startsWith(appArmor)) yield forbiddenField(`${path}[${key}]`, 'may not remove or update AppArmor annotations');
    if (key === mirror) yield forbiddenField(`${path}[${key}]`, 'may not remove or update mirror pod annotation');
  }
  for (const key of Object.keys(annotations)) {
    if (Object.hasOwn(old, key)) continue;
    if (key.startsWith(appArmor)) yield forbiddenField(`${path}[${key}]`, 'may not add AppArmor annotations');
    if (key === mirror) yield forbiddenField(`${path}[${key}]`, 'may not add mirror pod annotation');
  }
  yield* validatePodAnnotations(annotations, pod.spec ?? {containers: []}, path, rules);
}
