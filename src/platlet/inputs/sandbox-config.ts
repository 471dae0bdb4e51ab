// The configuration of a pod's sandbox. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {dottedSysctl} from '#src/platlet/pod/admission/sysctls.js';
import type {ContainerResources, DnsConfig, PortMapping, SandboxConfig} from '#src/platlet/runtime/configs.js';
import {identityLabels} from '#src/platlet/runtime/labels.js';
import type {PodIdentity} from '#src/platlet/runtime/state.js';
import {sandboxSecurity, type SecurityFacts} from './security.js';

export interface SandboxFacts extends SecurityFacts {
  readonly attempt: number;
  readonly cgroupParent: string;
  /** The host name set in the kernel. */
  readonly hostname: string;
  readonly dns: DnsConfig;
  readonly logDirectory: string;
  readonly resources: {readonly resources: ContainerResources; readonly overhead?: ContainerResources};
}

/** Returns the identity of a pod. */
export const identityOfPod = ({metadata: {uid = '', namespace = '', name = ''} = {}}: Frozen<Pod>): PodIdentity => ({uid, namespace, name});

const portMappings = ({spec}: Frozen<Pod>): PortMapping[] =>
  (spec?.containers ?? []).flatMap(({ports = []}) =>
    ports.map(({protocol = 'TCP', containerPort, hostPort = 0, hostIP = ''}) => ({
      protocol: protocol as PortMapping['protocol'],
      containerPort,
      hostPort,
      hostIp: hostIP,
    })),
  );

/** Returns the configuration of a pod's sandbox. */
export const sandboxConfig = (pod: Frozen<Pod>, facts: SandboxFacts): SandboxConfig => {
  const {attempt, cgroupParent, hostname, dns, logDirectory, resources} = facts;
  const identity = identityOfPod(pod);
  const {hostNetwork, securityContext} = pod.spec ?? {};
  return {
    pod: identity,
    attempt,
    // The host name of the host network cannot be changed.
    hostname: hostNetwork ? '' : hostname,
    logDirectory,
    dns,
    portMappings: portMappings(pod),
    labels: {...pod.metadata?.labels, ...identityLabels(identity)},
    annotations: {...pod.metadata?.annotations},
    cgroupParent,
    sysctls: Object.fromEntries((securityContext?.sysctls ?? []).map(({name, value}) => [dottedSysctl(name), value])),
    ...resources,
    security: sandboxSecurity(pod, facts),
  };
};
