// Configurations of sandboxes and containers for tests of a runtime.

import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import type {ContainerConfig, SandboxConfig, SandboxSecurity} from '#src/platlet/runtime/configs.js';
import {identityLabels} from '#src/platlet/runtime/labels.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {Containerd} from './containerd.js';
import {recipes} from './images/index.js';

const security: SandboxSecurity = {
  namespaces: {network: 'pod', pid: 'container', ipc: 'pod'},
  supplementalGroups: [],
  privileged: false,
  seccomp: {type: 'RuntimeDefault'},
};

/** Returns the configuration of a sandbox for a pod of this name, whose uid is the name too. */
export const aSandbox = (node: Containerd, name: string, changes: Partial<SandboxConfig> = {}): SandboxConfig => {
  const pod = {uid: name, namespace: 'default', name};
  const logDirectory = join(node.agentFolder, 'logs', name);
  mkdirSync(logDirectory, {recursive: true});
  return {
    pod,
    attempt: 0,
    hostname: name,
    logDirectory,
    portMappings: [],
    labels: identityLabels(pod),
    annotations: {},
    cgroupParent: `${node.cgroup}/${name}`,
    sysctls: {},
    security,
    ...changes,
  };
};

/** Returns the configuration of a container that runs a command of the shell. */
export const aContainer = (sandbox: SandboxConfig, script: string, changes: Partial<ContainerConfig> = {}): ContainerConfig => ({
  name: 'main',
  attempt: 0,
  image: {image: recipes.busybox.reference},
  command: ['sh', '-c', script],
  args: [],
  workingDir: '',
  environment: [],
  mounts: [],
  devices: [],
  cdiDevices: [],
  labels: identityLabels(sandbox.pod, 'main'),
  annotations: {},
  logPath: 'main/0.log',
  stdin: false,
  stdinOnce: false,
  tty: false,
  resources: {},
  security: {
    ...security,
    addCapabilities: [],
    dropCapabilities: [],
    noNewPrivileges: false,
    maskedPaths: [],
    readonlyPaths: [],
  },
  ...changes,
});

/** Removes all pods of a runtime. */
export const removePods = async (runtime: Runtime): Promise<void> => {
  for (const {sandboxes} of await runtime.pods())
    for (const {id} of sandboxes) {
      await runtime.stopSandbox(id);
      await runtime.removeSandbox(id);
    }
};
