// The configurations of sandboxes and containers as CRI messages.

import type {
  ContainerConfig,
  ContainerResources,
  ContainerSecurity,
  MountConfig,
  NamespaceOptions,
  SandboxConfig,
  SandboxSecurity,
  UserNamespace,
} from '#src/platlet/runtime/configs.js';
import type {ImageSpec} from '#src/platlet/runtime/images.js';
import type {Draft, Value} from '#src/platlet/rpc/codec.js';
import type * as common from './messages/common.js';
import type {containerConfig} from './messages/containers.js';
import type {sandboxConfig} from './messages/sandboxes.js';

export const imageMessage = ({image, userSpecified, handler, annotations}: ImageSpec): Draft<Value<typeof common.imageSpec>> => ({
  image,
  userSpecifiedImage: userSpecified,
  runtimeHandler: handler,
  annotations,
});

export const resourcesMessage = ({
  memoryLimitBytes,
  memorySwapLimitBytes,
  ...rest
}: ContainerResources): Draft<Value<typeof common.containerResources>> => ({
  ...rest,
  memoryLimitInBytes: memoryLimitBytes,
  memorySwapLimitInBytes: memorySwapLimitBytes,
});

const usersMessage = (users: UserNamespace) => (users === 'node' ? {mode: users} : {mode: 'pod' as const, uids: [users], gids: [users]});

const namespacesMessage = ({network, pid, ipc, targetId, users}: NamespaceOptions): Draft<Value<typeof common.namespaceOption>> => ({
  network,
  pid,
  ipc,
  targetId,
  usernsOptions: users && usersMessage(users),
});

/** Returns the fields shared by the security contexts of sandboxes and containers. */
const securityMessage = ({namespaces, selinux, seccomp, apparmor, isStrictGroups, ...rest}: SandboxSecurity) =>
  ({
    namespaceOptions: namespacesMessage(namespaces),
    selinuxOptions: selinux,
    runAsUser: rest.runAsUser,
    runAsGroup: rest.runAsGroup,
    readonlyRootfs: rest.readonlyRootfs,
    supplementalGroups: rest.supplementalGroups,
    privileged: rest.privileged,
    seccomp: seccomp && {profileType: seccomp.type, localhostRef: seccomp.localhostRef},
    apparmor: apparmor && {profileType: apparmor.type, localhostRef: apparmor.localhostRef},
    supplementalGroupsPolicy: isStrictGroups ? 'Strict' : 'Merge',
  }) satisfies Draft<Value<typeof common.sandboxSecurityContext>>;

const containerSecurityMessage = (security: ContainerSecurity): Draft<Value<typeof common.containerSecurityContext>> => ({
  ...securityMessage(security),
  capabilities: {addCapabilities: security.addCapabilities, dropCapabilities: security.dropCapabilities},
  runAsUsername: security.runAsUsername,
  noNewPrivs: security.noNewPrivileges,
  maskedPaths: security.maskedPaths,
  readonlyPaths: security.readonlyPaths,
});

export const sandboxMessage = (config: SandboxConfig): Draft<Value<typeof sandboxConfig>> => ({
  metadata: {...config.pod, attempt: config.attempt},
  hostname: config.hostname,
  logDirectory: config.logDirectory,
  dnsConfig: config.dns,
  portMappings: config.portMappings,
  labels: config.labels,
  annotations: config.annotations,
  linux: {
    cgroupParent: config.cgroupParent,
    securityContext: securityMessage(config.security),
    sysctls: config.sysctls,
    overhead: config.overhead && resourcesMessage(config.overhead),
    resources: config.resources && resourcesMessage(config.resources),
  },
});

const mountMessage = ({users, image, recursiveReadonly, ...mount}: MountConfig): Draft<Value<typeof containerConfig>>['mounts'] => [
  {
    ...mount,
    recursiveReadOnly: recursiveReadonly,
    uidMappings: users && [users],
    gidMappings: users && [users],
    image: image && imageMessage(image.image),
    imageSubPath: image?.subPath,
  },
];

export const containerMessage = (config: ContainerConfig): Draft<Value<typeof containerConfig>> => ({
  metadata: {name: config.name, attempt: config.attempt},
  image: imageMessage(config.image),
  command: config.command,
  args: config.args,
  workingDir: config.workingDir,
  envs: config.environment.map(({name, value}) => ({key: name, value: Buffer.from(value)})),
  mounts: config.mounts.flatMap(mount => mountMessage(mount) ?? []),
  devices: config.devices,
  labels: config.labels,
  annotations: config.annotations,
  logPath: config.logPath,
  stdin: config.stdin,
  stdinOnce: config.stdinOnce,
  tty: config.tty,
  linux: {resources: resourcesMessage(config.resources), securityContext: containerSecurityMessage(config.security)},
  cdiDevices: config.cdiDevices.map(name => ({name})),
  stopSignal: config.stopSignal,
});
