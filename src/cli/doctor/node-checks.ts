// What a machine lacks for pods in real containers. Pure: what was found is given.

import {finding, missing, type Finding} from './finding.js';

/** What was found on a machine that is to be a node. */
export interface NodeMachine {
  readonly platform: string;
  readonly isRoot: boolean;
  /** The first line of what a program says of its version, by its name; absent for one that is not installed. */
  readonly programs: Readonly<Record<string, string>>;
  /** The socket of the container runtime, and why it does not accept connections, if it does not. */
  readonly runtimeSocket: string;
  readonly runtimeProblem: string | undefined;
  readonly networkConfigurations: readonly string[];
  readonly networkFolder: string;
  /** The programs of `networkPlugins` that are in no folder of plugins. */
  readonly missingPlugins: readonly string[];
  /** 1, 2, or undefined without control groups. */
  readonly cgroupVersion: 1 | 2 | undefined;
  /** Whether the kernel has what the modules of these names provide. */
  readonly kernelFeatures: Readonly<Record<string, boolean>>;
  /** The values of `nodeParameters`, by name; absent for one that the kernel does not have. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** The CNI plugins that the network of a node of `plat node init` needs. */
export const networkPlugins: readonly string[] = ['bridge', 'host-local', 'loopback', 'portmap'];

/** The kernel parameters that have to be on, and what for. */
export const nodeParameters: Readonly<Record<string, string>> = {
  'net.ipv4.ip_forward': 'pods reach the outside',
  'net.bridge.bridge-nf-call-iptables': 'pods of a bridge reach each other by services',
};

const leastContainerd: readonly [number, number] = [1, 6];

const feature = 'real containers';

/** Returns why a version of containerd is not enough. One that cannot be read is not judged. */
const containerdProblem = (text: string): string | undefined => {
  const [, major, minor] = /\b(\d{1,4})\.(\d{1,4})/.exec(text) ?? [];
  if (major === undefined) return undefined;
  const isEnough = Number(major) > leastContainerd[0] || (Number(major) === leastContainerd[0] && Number(minor) >= leastContainerd[1]);
  return isEnough ? undefined : `${text} is older than ${leastContainerd.join('.')}`;
};

const runtimeFinding = ({programs, runtimeSocket, runtimeProblem}: NodeMachine): Finding => {
  const {containerd} = programs;
  return finding(
    feature,
    'container runtime',
    runtimeProblem ?? (containerd === undefined ? undefined : containerdProblem(containerd)),
    `${runtimeSocket}${containerd ? `, ${containerd}` : ''}`,
    `Install containerd ${leastContainerd.join('.')} or newer and start it (Debian: apt-get install containerd runc), or name the socket of another runtime: --agent-arg=--container-runtime-endpoint=….`,
  );
};

const networkFindings = ({programs, networkConfigurations, networkFolder, missingPlugins}: NodeMachine): readonly Finding[] => [
  finding(
    feature,
    'network plugins',
    missingPlugins.length > 0 ? `${missingPlugins.join(', ')} not found` : undefined,
    networkPlugins.join(', '),
    'Install the CNI plugins (Debian: apt-get install containernetworking-plugins), in the folder that the runtime names.',
  ),
  finding(
    feature,
    'iptables',
    missing(programs, 'iptables'),
    programs['iptables'] ?? '',
    'The CNI plugins let pods reach the outside by it, and serve ports of the host (Debian: apt-get install iptables).',
  ),
  finding(
    feature,
    'pod network',
    networkConfigurations.length > 0 ? undefined : `${networkFolder} holds no configuration`,
    networkConfigurations.join(', '),
    `Write a CNI configuration to ${networkFolder}: plat node init does.`,
  ),
];

const serviceFindings = ({programs}: NodeMachine): readonly Finding[] => [
  finding(
    feature,
    'nft',
    missing(programs, 'nft'),
    programs['nft'] ?? '',
    'Addresses of services need it (Debian: apt-get install nftables).',
  ),
  finding(
    feature,
    'conntrack',
    missing(programs, 'conntrack'),
    programs['conntrack'] ?? '',
    'UDP flows to endpoints that are gone end with it (Debian: apt-get install conntrack).',
  ),
];

const kernelFindings = ({kernelFeatures, parameters, cgroupVersion}: NodeMachine): readonly Finding[] => [
  finding(
    feature,
    'control groups',
    cgroupVersion === 2 ? undefined : cgroupVersion === 1 ? 'version 1' : 'there are none',
    'version 2',
    'Boot with systemd.unified_cgroup_hierarchy=1: the agent needs version 2, as the original does by default; --fail-cgroupv1=false allows version 1.',
  ),
  ...Object.entries(kernelFeatures).map(([name, isThere]) =>
    finding(feature, name, isThere ? undefined : 'the kernel does not have it', 'there', `Load it: modprobe ${name}.`),
  ),
  ...Object.entries(nodeParameters).map(([name, purpose]) =>
    finding(
      feature,
      name,
      parameters[name] === '1' ? undefined : parameters[name] === undefined ? 'the kernel does not have it' : `it is ${parameters[name]}`,
      '1',
      `With it ${purpose}: sysctl -w ${name}=1.`,
    ),
  ),
];

/** Returns what a machine has and lacks as a node. */
export const nodeFindings = (machine: NodeMachine): readonly Finding[] => {
  const {platform, isRoot} = machine;
  if (platform !== 'linux')
    return [finding(feature, 'system', `this is ${platform}`, '', 'Run the agent of a node on Linux; simulated nodes run everywhere.')];
  return [
    finding(feature, 'user', isRoot ? undefined : 'this is not root', 'root', 'Run plat up --agent, or platlet, as root.'),
    runtimeFinding(machine),
    ...networkFindings(machine),
    ...serviceFindings(machine),
    ...kernelFindings(machine),
  ];
};
