// The sandbox and container configurations that the agent passes to a runtime: CRI messages without numeric
// enumerations.

import type {ImageSpec} from './images.js';
import type {PodIdentity} from './state.js';

export interface DnsConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

/**
 * The mode of a Linux namespace: `pod` for one per pod, `container` for one per container, `node` for that of the host,
 * `target` for that of another container.
 */
export type NamespaceMode = 'pod' | 'container' | 'node' | 'target';

export interface IdMapping {
  readonly hostId: number;
  readonly containerId: number;
  readonly length: number;
}

/** The id mapping of a user namespace, or `node` for that of the host. */
export type UserNamespace = IdMapping | 'node';

export interface NamespaceOptions {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  /** The container id of a `target` namespace. */
  readonly targetId?: string;
  /**
   * The id mapping of the pod's user namespace, or that of the host; absent where user namespaces are not supported.
   */
  readonly users?: UserNamespace;
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef?: string;
}

export interface SelinuxOptions {
  readonly user?: string;
  readonly role?: string;
  readonly type?: string;
  readonly level?: string;
}

export interface SandboxSecurity {
  readonly namespaces: NamespaceOptions;
  readonly selinux?: SelinuxOptions;
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly readonlyRootfs?: boolean;
  readonly supplementalGroups: readonly number[];
  readonly isStrictGroups?: boolean;
  readonly privileged: boolean;
  readonly seccomp?: SecurityProfile;
  readonly apparmor?: SecurityProfile;
}

export interface ContainerResources {
  readonly cpuPeriod?: number;
  /** In microseconds per period; 0 is no limit. */
  readonly cpuQuota?: number;
  readonly cpuShares?: number;
  readonly memoryLimitBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly {readonly pageSize: string; readonly limit: number}[];
  readonly unified?: Readonly<Record<string, string>>;
  readonly memorySwapLimitBytes?: number;
}

/** What the containers of a pod have together, and what its sandbox has beside them. */
export interface SandboxUpdate {
  readonly resources: ContainerResources;
  readonly overhead?: ContainerResources;
}

export interface SandboxConfig {
  readonly pod: PodIdentity;
  readonly attempt: number;
  /** Empty in the host network. */
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dns?: DnsConfig;
  readonly portMappings: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cgroupParent: string;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly overhead?: ContainerResources;
  readonly resources?: ContainerResources;
  readonly security: SandboxSecurity;
}

export interface MountConfig {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
  readonly recursiveReadonly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation: 'private' | 'host-to-container' | 'bidirectional';
  readonly users?: IdMapping;
  /** The image to mount instead of a host path. */
  readonly image?: {readonly image: ImageSpec; readonly subPath: string};
}

export interface DeviceConfig {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly permissions: string;
}

export interface ContainerSecurity extends Omit<SandboxSecurity, 'isStrictGroups'> {
  readonly isStrictGroups?: boolean;
  readonly addCapabilities: readonly string[];
  readonly dropCapabilities: readonly string[];
  readonly runAsUsername?: string;
  readonly noNewPrivileges: boolean;
  readonly maskedPaths: readonly string[];
  readonly readonlyPaths: readonly string[];
}

export interface ContainerConfig {
  readonly name: string;
  readonly attempt: number;
  readonly image: ImageSpec;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly environment: readonly {readonly name: string; readonly value: string}[];
  readonly mounts: readonly MountConfig[];
  readonly devices: readonly DeviceConfig[];
  readonly cdiDevices: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Relative to the log directory of the sandbox. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly stopSignal?: string;
  readonly resources: ContainerResources;
  readonly security: ContainerSecurity;
}
