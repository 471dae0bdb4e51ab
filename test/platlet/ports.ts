import {containerAnnotations} from '#src/platlet/inputs/annotations.js';
import type {ContainerOutput, Images, PodCgroups, PodConfigs, PodVolumes} from '#src/platlet/pod/ports.js';
import type {ContainerConfig, SandboxConfig} from '#src/platlet/runtime/configs.js';

/** Every image is there. */
export const presentImages: Images = {ensure: (_, {image = ''}) => Promise.resolve({ref: image})};

export const noVolumes = (calls: string[] = []): PodVolumes => ({
  async mount({metadata}) {
    calls.push(`mount ${metadata?.name}`);
  },
  async release() {
    calls.push('release');
    return true;
  },
});

export const noCgroups = (calls: string[] = []): PodCgroups => ({
  ensure: () => Promise.resolve('/pods'),
  hasLimits: false,
  limitsFor: () => ({}),
  limitsOf: () => Promise.resolve(undefined),
  memoryOf: () => Promise.resolve(undefined),
  change: () => Promise.resolve(),
  async remove() {
    calls.push('remove cgroup');
    return true;
  },
});

export const noOutput: ContainerOutput = {
  terminationMessage: () => Promise.resolve(''),
  logTail: () => Promise.resolve(''),
  lastAttempt: () => Promise.resolve(undefined),
};

const namespaces = {network: 'pod', pid: 'container', ipc: 'pod'} as const;
const security = {namespaces, supplementalGroups: [], privileged: false};

/** Configurations with what a runtime in memory reads. */
export const configs: PodConfigs = {
  async sandbox({metadata, spec}, attempt, cgroupParent) {
    const {uid = '', name = '', namespace = ''} = metadata ?? {};
    const config: SandboxConfig = {
      pod: {uid, name, namespace},
      attempt,
      hostname: spec?.hostNetwork ? '' : name,
      logDirectory: `/logs/${namespace}_${name}_${uid}`,
      portMappings: [],
      labels: {},
      annotations: {},
      cgroupParent,
      sysctls: {},
      security,
    };
    return {config, handler: ''};
  },
  resources: () => ({}),
  sandboxUpdate: (_, resources) => ({resources}),
  async container({pod, container, attempt, image}) {
    const config: ContainerConfig = {
      name: container.name,
      attempt,
      image: {image: image.ref, userSpecified: container.image ?? ''},
      command: container.command ?? [],
      args: container.args ?? [],
      workingDir: '',
      environment: [],
      mounts: [],
      devices: [],
      cdiDevices: [],
      labels: {},
      annotations: containerAnnotations(pod, container, attempt),
      logPath: `${container.name}/${attempt}.log`,
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
    };
    return config;
  },
};
