// What a machine has, and what it lacks for which feature. Pure: what was found is given.

/** What was found on a machine. */
export interface Machine {
  readonly platform: string;
  readonly nodeVersion: string;
  readonly freeMemoryBytes: number;
  readonly isRoot: boolean;
  /** Why the addon of the embedded store cannot be loaded, if it cannot. */
  readonly storeProblem: string | undefined;
  readonly directory: string;
  /** Why files cannot be written durably in the directory, if they cannot. */
  readonly directoryProblem: string | undefined;
  /** Why the registry of planes cannot be written, if it cannot. */
  readonly homeProblem: string | undefined;
  readonly port: number;
  readonly portProblem: string | undefined;
  /** The first line of what a program says of its version, by its name; absent for one that is not installed. */
  readonly programs: Readonly<Record<string, string>>;
  /** The socket of the container runtime, if it accepts connections, and why not. */
  readonly runtimeSocket: string;
  readonly runtimeProblem: string | undefined;
  readonly networkConfigurations: readonly string[];
  readonly networkFolder: string;
  /** 1, 2, or undefined without control groups. */
  readonly cgroupVersion: 1 | 2 | undefined;
  readonly kernelFeatures: Readonly<Record<string, boolean>>;
}

/** The result of one check. */
export interface Finding {
  readonly check: string;
  /** What needs it. */
  readonly feature: Feature;
  readonly isOk: boolean;
  /** What was found. */
  readonly found: string;
  /** What to do; empty where nothing is missing. */
  readonly advice: string;
}

/** The features that checks are for. */
export type Feature = 'plat up' | 'kubectl' | 'real containers' | 'planes by name';

const leastNode: readonly [number, number] = [20, 19];
const leastMemoryBytes = 256 << 20;

const isRecent = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > leastNode[0] || (major === leastNode[0] && minor >= leastNode[1]);
};

const finding = (feature: Feature, check: string, problem: string | undefined, found: string, advice: string): Finding => ({
  check,
  feature,
  isOk: problem === undefined,
  found: problem ?? found,
  advice: problem === undefined ? '' : advice,
});

const megabytes = (bytes: number): string => `${Math.round(bytes / (1 << 20))} MB`;

const planeFindings = (machine: Machine): readonly Finding[] => [
  finding(
    'plat up',
    'Node.js',
    isRecent(machine.nodeVersion) ? undefined : `${machine.nodeVersion} is too old`,
    machine.nodeVersion,
    `Install Node.js ${leastNode.join('.')} or newer.`,
  ),
  finding(
    'plat up',
    'embedded store',
    machine.storeProblem,
    'its addon loads',
    'Install the package again on this machine, with its optional dependencies: npm install --include=optional.',
  ),
  finding(
    'plat up',
    'data directory',
    machine.directoryProblem,
    `${machine.directory} takes durable writes`,
    'Give another --data-dir, or make it writable for this user.',
  ),
  finding(
    'plat up',
    'port',
    machine.portProblem,
    machine.port === 0 ? 'a free one is selected' : `${machine.port} is free`,
    'Stop what listens there ("plat ps" lists planes), or give another --secure-port; 0 selects a free one.',
  ),
  finding(
    'plat up',
    'memory',
    machine.freeMemoryBytes < leastMemoryBytes ? `${megabytes(machine.freeMemoryBytes)} are free` : undefined,
    `${megabytes(machine.freeMemoryBytes)} are free`,
    `A plane needs about ${megabytes(leastMemoryBytes)}: end other programs.`,
  ),
  finding(
    'planes by name',
    'PLAT_HOME',
    machine.homeProblem,
    'planes can be listed',
    'Set PLAT_HOME to a folder that this user can write; without one planes run, and "plat ps" does not list them.',
  ),
];

const missing = (programs: Machine['programs'], name: string): string | undefined =>
  programs[name] === undefined ? 'it is not installed' : undefined;

const clientFindings = ({programs}: Machine): readonly Finding[] => [
  finding(
    'kubectl',
    'kubectl',
    missing(programs, 'kubectl'),
    programs['kubectl'] ?? '',
    'Install kubectl, of 1.34 or newer; other clients do not need it.',
  ),
];

const kernelFindings = ({kernelFeatures}: Machine): readonly Finding[] =>
  Object.entries(kernelFeatures).map(([name, isThere]) =>
    finding('real containers', name, isThere ? undefined : 'the kernel does not have it', 'there', `Load it: modprobe ${name}.`),
  );

const agentFindings = (machine: Machine): readonly Finding[] => {
  const {platform, isRoot, programs, cgroupVersion, networkConfigurations, networkFolder} = machine;
  if (platform !== 'linux')
    return [
      finding('real containers', 'system', `this is ${platform}`, '', 'Run the agent of a node on Linux; simulated nodes run everywhere.'),
    ];
  return [
    finding('real containers', 'user', isRoot ? undefined : 'this is not root', 'root', 'Run plat up --agent, or platlet, as root.'),
    finding(
      'real containers',
      'container runtime',
      machine.runtimeProblem,
      `${machine.runtimeSocket}${programs['containerd'] ? `, ${programs['containerd']}` : ''}`,
      'Install containerd 1.7 or newer and start it, or name the socket of another runtime: --agent-arg=--container-runtime-endpoint=….',
    ),
    finding(
      'real containers',
      'pod network',
      networkConfigurations.length > 0 ? undefined : `${networkFolder} holds no configuration`,
      networkConfigurations.join(', '),
      `Write a CNI configuration to ${networkFolder}: docs/nodes.md has one.`,
    ),
    finding(
      'real containers',
      'control groups',
      cgroupVersion === 2 ? undefined : cgroupVersion === 1 ? 'version 1' : 'there are none',
      'version 2',
      'Boot with systemd.unified_cgroup_hierarchy=1: the agent needs version 2, as the original does by default.',
    ),
    ...kernelFindings(machine),
  ];
};

/** Returns what a machine has and lacks, by feature. */
export const findingsOf = (machine: Machine): readonly Finding[] => [
  ...planeFindings(machine),
  ...clientFindings(machine),
  ...agentFindings(machine),
];

/** Whether `plat up` works on the machine. */
export const worksWithout = (findings: readonly Finding[]): boolean => findings.every(({feature, isOk}) => isOk || feature !== 'plat up');
