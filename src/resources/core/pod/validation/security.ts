import {duplicate, forbiddenField, invalid, notSupported, required, tooLong, type FieldError} from '#src/api/field-error.js';
import type {AppArmorProfile, PodSpec, SeccompProfile, SecurityContext} from '#src/api/pod.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';
import {validateDescendingPath} from '#src/resources/validation/paths.js';
import {oneOf, systemId} from '#src/resources/validation/values.js';
import type {ContainerRules, PodSpecRules} from './rules.js';
import {validateWindowsOptions} from './windows.js';

// Validation of security contexts and sysctls. Pod security levels are enforced by admission, not here.

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function* seccomp(profile: SeccompProfile | undefined, path: string): Iterable<FieldError> {
  if (!profile) return;
  const {type, localhostProfile: file} = profile;
  if (!type) yield required(`${path}.type`, 'type is required when seccompProfile is set');
  else yield* oneOf(`${path}.type`, type, profileTypes);
  if (type === 'Localhost') {
    if (file === undefined) yield required(`${path}.localhostProfile`, 'must be set when seccomp type is Localhost');
    else yield* validateDescendingPath(`${path}.localhostProfile`, file);
  } else if (file !== undefined)
    yield invalid(`${path}.localhostProfile`, internalForm('SeccompProfile', profile), 'can only be set when seccomp type is Localhost');
}

/** The longest path (PATH_MAX without the terminator). */
const longestPath = 4095;

function* localAppArmor(file: string | undefined, path: string): Iterable<FieldError> {
  if (file === undefined || file === '') return yield required(path, 'must be set when AppArmor type is Localhost');
  if (file.trim() !== file) yield invalid(path, file, 'must not be padded with whitespace');
  if (Buffer.byteLength(file) > longestPath) yield tooLong(path, longestPath);
}

export function* validateAppArmor(profile: AppArmorProfile | undefined, path: string): Iterable<FieldError> {
  if (!profile) return;
  const {type, localhostProfile: file} = profile;
  if (type === 'Localhost') yield* localAppArmor(file, `${path}.localhostProfile`);
  else if (type === 'RuntimeDefault' || type === 'Unconfined') {
    if (file !== undefined) yield invalid(`${path}.localhostProfile`, file, 'can only be set when AppArmor type is Localhost');
  } else if (!type) yield required(`${path}.type`, 'type is required when appArmorProfile is set');
  else yield notSupported(`${path}.type`, type, profileTypes);
}

function* escalation(
  {allowPrivilegeEscalation, privileged, capabilities}: SecurityContext,
  context: SecurityContext,
  path: string,
): Iterable<FieldError> {
  if (allowPrivilegeEscalation !== false) return;
  if (privileged)
    yield invalid(
      path,
      internalForm('SecurityContext', context),
      'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    );
  for (const capability of capabilities?.add ?? []) {
    if (capability === 'CAP_SYS_ADMIN')
      yield invalid(
        path,
        internalForm('SecurityContext', context),
        'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN',
      );
  }
}

/** Validates a container's security context. */
export function* validateSecurityContext(
  context: SecurityContext | undefined,
  path: string,
  {allowPrivileged, hostUsers}: ContainerRules,
): Iterable<FieldError> {
  if (!context) return;
  if (context.privileged && !allowPrivileged) yield forbiddenField(`${path}.privileged`, 'disallowed by cluster policy');
  yield* systemId(`${path}.runAsUser`, context.runAsUser);
  yield* systemId(`${path}.runAsGroup`, context.runAsGroup);
  const {procMount} = context;
  if (procMount !== undefined) {
    yield* oneOf(`${path}.procMount`, procMount, ['Default', 'Unmasked']);
    if (hostUsers && procMount === 'Unmasked') yield invalid(`${path}.procMount`, procMount, '`hostUsers` must be false to use `Unmasked`');
  }
  yield* seccomp(context.seccompProfile, `${path}.seccompProfile`);
  yield* escalation(context, context, path);
  yield* validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`);
  yield* validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`);
}

const sysctlForm = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const isSysctl = new RegExp(`^${sysctlForm}$`);
const longestSysctl = 253;

/** Returns the kernel namespace of a sysctl (sysctl(8)), by its dotted name. */
const sysctlNamespace = (name: string): 'ipc' | 'net' | undefined => {
  const slash = name.indexOf('/');
  const dot = name.indexOf('.');
  const dotted = slash >= 0 && (dot < 0 || slash < dot) ? name.replaceAll('/', '.') : name;
  if (dotted.startsWith('net.')) return 'net';
  return dotted.startsWith('fs.mqueue.') || /^kernel\.(sem|shm|msg)/.test(dotted) ? 'ipc' : undefined;
};

/** Returns why a sysctl is not allowed in a pod that shares the node's network or IPC namespace. */
export const sysctlOfHost = ({hostNetwork, hostIPC}: PodSpec, name: string): string | undefined => {
  const namespace = sysctlNamespace(name);
  if (hostNetwork && namespace === 'net') return "may not be specified when 'hostNetwork' is true";
  return hostIPC && namespace === 'ipc' ? "may not be specified when 'hostIPC' is true" : undefined;
};

function* sysctls(spec: PodSpec, path: string, {allow}: PodSpecRules): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, {name}] of (spec.securityContext?.sysctls ?? []).entries()) {
    const at = `${path}[${i}].name`;
    if (!name) yield required(at);
    else if (name.length > longestSysctl || !isSysctl.test(name))
      yield invalid(at, name, `must have at most ${longestSysctl} characters and match regex ^${sysctlForm}$`);
    else if (seen.has(name)) yield duplicate(at, name);
    seen.add(name);
    const problem = sysctlOfHost(spec, name);
    if (problem && !allow.hostSysctls) yield invalid(at, name, problem);
  }
}

/** Validates a pod's security context. */
export function* validatePodSecurityContext(spec: PodSpec, path: string, rules: PodSpecRules): Iterable<FieldError> {
  const {securityContext: context = {}} = spec;
  yield* systemId(`${path}.fsGroup`, context.fsGroup);
  yield* systemId(`${path}.runAsUser`, context.runAsUser);
  yield* systemId(`${path}.runAsGroup`, context.runAsGroup);
  for (const [i, group] of (context.supplementalGroups ?? []).entries()) yield* systemId(`${path}.supplementalGroups[${i}]`, group);
  if (spec.shareProcessNamespace && spec.hostPID) {
    yield invalid(`${path}.shareProcessNamespace`, true, 'ShareProcessNamespace and HostPID cannot both be enabled');
  }
  yield* sysctls(spec, `${path}.sysctls`, rules);
  if (context.fsGroupChangePolicy !== undefined)
    yield* oneOf(`${path}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  yield* seccomp(context.seccompProfile, `${path}.seccompProfile`);
  yield* validateWindowsOptions(context.windowsOptions, `${path}.windowsOptions`);
  yield* validateAppArmor(context.appArmorProfile, `${path}.appArmorProfile`);
  if (context.supplementalGroupsPolicy !== undefined)
    yield* oneOf(`${path}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  if (context.seLinuxChangePolicy !== undefined) {
    yield* oneOf(
      `${path}.seLinuxChangePolicy`,
      context.seLinuxChangePolicy,
      rules.allow.anyLabelChange ? ['MountOption', 'Recursive'] : ['Recursive'],
    );
  }
}
