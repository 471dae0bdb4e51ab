// The security contexts of sandboxes and containers.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, AppArmorProfile, Pod, SeccompProfile, SecurityContext} from '#src/api/pod.js';
import {containersOf} from '#src/model/pod/containers.js';
import {podText} from '#src/platlet/pod/backoff.js';
import {WaitingError, type PulledImage} from '#src/platlet/pod/ports.js';
import type {ContainerSecurity, NamespaceOptions, SandboxSecurity, SecurityProfile, UserNamespace} from '#src/platlet/runtime/configs.js';

export interface SecuritySettings {
  /** The directory of seccomp profiles. */
  readonly seccomp: string;
  /** Whether containers without a seccomp profile use the runtime default. */
  readonly seccompDefault: boolean;
  /** Host paths masked in containers, besides the default ones. */
  readonly maskedPaths: readonly string[];
}

/** What the security context depends on besides the pod. */
export interface SecurityFacts {
  /** Supplemental groups of its volumes. */
  readonly volumeGroups: readonly number[];
  /** The user namespace of the pod; absent where they are not supported. */
  readonly users?: UserNamespace;
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];

const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

const namespacesOf = ({spec}: Frozen<Pod>, users: UserNamespace | undefined): NamespaceOptions => ({
  network: spec?.hostNetwork ? 'node' : 'pod',
  ipc: spec?.hostIPC ? 'node' : 'pod',
  pid: spec?.hostPID ? 'node' : spec?.shareProcessNamespace ? 'pod' : 'container',
  ...(users ? {users} : {}),
});

const supplementalGroups = ({spec}: Frozen<Pod>, volumeGroups: readonly number[]): number[] => {
  const {fsGroup, supplementalGroups: own = []} = spec?.securityContext ?? {};
  return [...new Set([...own, ...(fsGroup === undefined ? [] : [fsGroup]), ...volumeGroups])];
};

/** Returns the settings that are set. */
const present = <T extends object>(values: T): {[K in keyof T]?: Exclude<T[K], undefined>} =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {[K in keyof T]?: Exclude<T[K], undefined>};

/** Returns the security context of a pod's sandbox. */
export const sandboxSecurity = (pod: Frozen<Pod>, {volumeGroups, users}: SecurityFacts): SandboxSecurity => {
  const {runAsUser, runAsGroup, seLinuxOptions: selinux, supplementalGroupsPolicy} = pod.spec?.securityContext ?? {};
  return {
    namespaces: namespacesOf(pod, users),
    privileged: containersOf(pod.spec as never).some(({securityContext}) => securityContext?.privileged),
    seccomp: {type: 'RuntimeDefault'},
    supplementalGroups: supplementalGroups(pod, volumeGroups),
    ...(supplementalGroupsPolicy === 'Strict' ? {isStrictGroups: true} : {}),
    ...present({runAsUser, runAsGroup, selinux}),
  };
};

/** Returns a seccomp or AppArmor profile for the runtime; local profiles are given by their path. */
const profileOf = (profile: Frozen<SeccompProfile | AppArmorProfile> | undefined, folder = ''): SecurityProfile | undefined => {
  if (!profile) return undefined;
  const type = profile.type as SecurityProfile['type'];
  return type === 'Localhost' ? {type, localhostRef: join(folder, profile.localhostProfile ?? '')} : {type};
};

/** Returns the effective security context of a container, with the defaults of the pod. */
const effective = ({spec}: Frozen<Pod>, {securityContext}: Frozen<AnyContainer>): Frozen<SecurityContext> => {
  const {runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions, seccompProfile, appArmorProfile} = spec?.securityContext ?? {};
  return {...present({runAsUser, runAsGroup, runAsNonRoot, seLinuxOptions, seccompProfile, appArmorProfile}), ...securityContext};
};

/** Throws if `runAsNonRoot` is violated or cannot be verified. */
const verifyNonRoot = (pod: Frozen<Pod>, name: string, {runAsNonRoot, runAsUser}: Frozen<SecurityContext>, image: PulledImage): void => {
  if (!runAsNonRoot) return;
  const of = `(pod: ${JSON.stringify(podText(pod))}, container: ${name})`;
  const refuse = (why: string): never => {
    throw new WaitingError('CreateContainerConfigError', `${why} ${of}`);
  };
  if (runAsUser !== undefined) {
    if (runAsUser === 0) refuse("container's runAsUser breaks non-root policy");
    return;
  }
  if (image.uid === undefined && image.username)
    refuse(`container has runAsNonRoot and image has non-numeric user (${image.username}), cannot verify user is non-root`);
  if ((image.uid ?? 0) === 0) refuse('container has runAsNonRoot and image will run as root');
};

/** Returns the user of a container: its own, or that of the image. */
const userOf = (
  {runAsUser}: Frozen<SecurityContext>,
  {uid, username}: PulledImage,
): Pick<ContainerSecurity, 'runAsUser' | 'runAsUsername'> => {
  if (runAsUser !== undefined) return {runAsUser};
  if (uid !== undefined) return {runAsUser: uid};
  return username ? {runAsUsername: username} : {runAsUser: 0};
};

/**
 * Returns the security context of a container. `targetId`: the container whose process namespace it shares. Throws
 * `WaitingError`.
 */
export const containerSecurity = (
  pod: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  {image, targetId, volumeGroups, users, settings}: SecurityFacts & {image: PulledImage; targetId?: string; settings: SecuritySettings},
): ContainerSecurity => {
  const context = effective(pod, container);
  verifyNonRoot(pod, container.name, context, image);
  const {capabilities, privileged = false, runAsGroup, readOnlyRootFilesystem, allowPrivilegeEscalation, procMount} = context;
  const namespaces = namespacesOf(pod, users);
  const seccomp = profileOf(context.seccompProfile, settings.seccomp);
  const apparmor = profileOf(context.appArmorProfile);
  const isUnmasked = procMount === 'Unmasked';
  return {
    namespaces: targetId === undefined ? namespaces : {...namespaces, pid: 'target', targetId},
    privileged,
    addCapabilities: capabilities?.add ?? [],
    dropCapabilities: capabilities?.drop ?? [],
    ...userOf(context, image),
    ...present({runAsGroup, readonlyRootfs: readOnlyRootFilesystem, selinux: context.seLinuxOptions, apparmor}),
    supplementalGroups: supplementalGroups(pod, volumeGroups),
    ...(pod.spec?.securityContext?.supplementalGroupsPolicy === 'Strict' ? {isStrictGroups: true} : {}),
    noNewPrivileges: allowPrivilegeEscalation === false,
    seccomp: seccomp ?? {type: settings.seccompDefault ? 'RuntimeDefault' : 'Unconfined'},
    maskedPaths: isUnmasked ? [] : [...maskedPaths, ...settings.maskedPaths],
    readonlyPaths: isUnmasked ? [] : readonlyPaths,
  };
};
