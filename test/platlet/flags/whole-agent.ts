// A whole agent, from its command line, on a machine and a runtime in memory.

import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {wellKnown} from '#src/api/user.js';
import {naming as namingOf} from '#src/api/naming.js';
import {systemFiles, type Files} from '#src/base/files/files.js';
import {noLog, type Log} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {withClockHeld} from '#src/base/clock.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {agentFlagsOf, clientsOf, hostOf, identityOf} from '#src/cli/platlet/agent-inputs.js';
import {configured} from '#src/cli/platlet/configuration.js';
import {checkedSettings} from '#src/cli/platlet/claim.js';
import {debugRoutes} from '#src/cli/platlet/routes.js';
import {agentServing} from '#src/cli/platlet/serving.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import {startAgent, type RunningAgent} from '#src/platlet/agent/agent.js';
import type {AgentParts} from '#src/platlet/agent/parts.js';
import type {Host} from '#src/platlet/host/host.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {nodeNameOf} from '#src/platlet/node/addresses.js';
import type {Machine} from '#src/platlet/node/machine.js';
import {agentSecurity} from '#src/platlet/server/security.js';
import type {Delegate} from '#src/serving/delegation.js';
import type {Allowance} from '#src/plane/component/connection.js';
import {systemNetwork} from '#src/transport/network.js';
import type {AgentPlane} from '#test/platlet/agent.js';
import {sysfsOf} from '#test/platlet/topology/sysfs.js';
import {folderHost, type FolderHost} from '#test/platlet/host.js';
import {RecordingRuntime} from './recording-runtime.js';

const Gi = 2 ** 30;

const theMachine: Machine = {
  machineId: 'machine',
  systemId: 'system',
  bootId: 'boot',
  kernelVersion: '6.1',
  osImage: 'Linux',
  operatingSystem: 'linux',
  architecture: 'amd64',
  cores: 4,
  memoryBytes: 8 * Gi,
  swapBytes: 0,
  hugepages: {},
  storageBytes: 100 * Gi,
  isInUserNamespace: false,
};

/** A machine in a folder. Files of the kernel are in memory, but for those of cgroups. */
export interface MemoryMachine extends Omit<FolderHost, 'space'> {
  /** The files of the kernel. */
  readonly kernel: Map<string, string>;
  /** Returns the text of a file of a cgroup; undefined if it was not written. */
  group(path: string): string | undefined;
  /** The disk that all is on. */
  space: Host['space'];
  /** The programs that were run. */
  readonly executed: string[];
  /** Writes a file of a cgroup. */
  setGroup(path: string, text: string): void;
}

const kernelParameters = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

const isKernels = (path: string): boolean => /^\/(?:proc|sys)\//.test(path);

/** The controllers of cgroups of version 1. */
const controllers = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids'];

export const memoryMachine = (version: 1 | 2 = 2): MemoryMachine => {
  const host = folderHost();
  const groups = join(host.root, 'cgroup');
  const kernel = new Map([
    ...Object.entries(kernelParameters).map(([name, value]) => [`/proc/sys/${name}`, String(value)] as const),
    ...sysfsOf({sockets: 1, coresPerNuma: 4}),
  ]);
  const fileOf = (path: string): string => join(groups, path);
  const setGroup = (path: string, text: string): void => {
    mkdirSync(dirname(fileOf(path)), {recursive: true});
    writeFileSync(fileOf(path), text);
  };
  const isShared = false;
  if (version === 2) {
    setGroup('cgroup.controllers', 'cpuset cpu io memory hugetlb pids');
    host.mounted.push({path: groups, type: 'cgroup2', root: '/', device: '0:1', source: 'cgroup2', options: [], isShared});
  } else
    for (const name of controllers) {
      setGroup(`${name}/cgroup.procs`, '');
      host.mounted.push({path: join(groups, name), type: 'cgroup', root: '/', device: '0:1', source: 'cgroup', options: [name], isShared});
    }
  host.mounted.push({path: host.root, type: 'ext4', root: '/', device: '0:1', source: 'disk', options: [], isShared: true});
  const executed: string[] = [];
  const {read, list, writeInto, linkTarget, removeFolder, removeTree} = host;
  const own: Partial<Host> = {
    read: async path => (isKernels(path) ? (kernel.has(path) ? Buffer.from(kernel.get(path)!) : undefined) : read(path)),
    list: async path =>
      isKernels(path)
        ? [
            ...new Set(
              [...kernel.keys()].flatMap(file => (file.startsWith(`${path}/`) ? [file.slice(path.length + 1).split('/')[0]!] : [])),
            ),
          ]
        : list(path),
    async writeInto(path, text) {
      if (isKernels(path)) kernel.set(path, text);
      else if (path.startsWith(groups)) writeFileSync(path, text);
      else await writeInto(path, text);
    },
    // The files of a cgroup belong to the kernel, and do not keep its folder.
    removeFolder: path => (path.startsWith(groups) ? removeTree(path) : removeFolder(path)),
    linkTarget: async path => (isKernels(path) ? '/bin/program' : linkTarget(path)),
    space: async () => ({totalBytes: 100 * Gi, availableBytes: 90 * Gi, inodes: 1000, inodesFree: 900}),
    device: async () => 1,
    async execute(program) {
      executed.push(program);
      return undefined;
    },
  };
  return Object.assign(host, own, {
    kernel,
    executed,
    setGroup,
    group(path: string) {
      try {
        return readFileSync(fileOf(path), 'utf8');
      } catch {
        return undefined;
      }
    },
  });
};

export interface WholeAgentOptions {
  /** Without a plane it is without an API server. */
  readonly plane?: AgentPlane;
  readonly clock?: VirtualClock;
  readonly host?: MemoryMachine;
  readonly runtime?: RecordingRuntime;
  readonly machine?: Partial<Machine>;
  readonly log?: Log;
  readonly parts?: Partial<AgentParts>;
  /** What reviews tokens and access. */
  readonly delegate?: Delegate;
}

export interface WholeAgent extends AsyncDisposable {
  readonly agent: RunningAgent;
  readonly host: MemoryMachine;
  readonly runtime: RecordingRuntime;
  readonly clock: VirtualClock;
  readonly nodeName: string;
  /** What each of its clients was given. */
  readonly allowances: ReadonlyMap<string, Allowance | undefined>;
}

/** The flags that keep it apart from the real machine. */
const apart = (host: MemoryMachine, argv: readonly string[]): readonly string[] =>
  Object.entries({
    'root-dir': host.folders.root,
    'cert-dir': join(host.root, 'pki'),
    'hostname-override': 'node',
    'node-ip': '192.168.0.1',
    'resolv-conf': '',
    'enable-server': 'false',
    'healthz-port': '0',
  })
    .filter(([flag]) => !argv.some(arg => arg.startsWith(`--${flag}=`)))
    .map(([flag, value]) => `--${flag}=${value}`);

/** The addresses of the machine. */
const addresses = {
  interfaces: () => ['192.168.0.1', '192.168.0.2', 'fd00::1'],
  defaultAddress: async (family: 4 | 6) => (family === 4 ? '192.168.0.2' : 'fd00::1'),
  resolve: async () => [],
};

/** The same, whose calls hold the clock until they are done: time does not pass while a disk works. */
const holding = <T extends object>(clock: VirtualClock, of: T): T =>
  new Proxy(of, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given);
        return result instanceof Promise ? withClockHeld(clock, () => result) : result;
      };
    },
  });

/** The files as the machine has them. Nothing is told of changes. */
const filesOf = ({kernel}: MemoryMachine): Files => ({
  ...systemFiles,
  read: async path => (isKernels(path) ? (kernel.has(path) ? Buffer.from(kernel.get(path)!) : undefined) : systemFiles.read(path)),
  watch: () => ({[Symbol.dispose]() {}}),
});

/** Starts an agent with a command line. */
export const aWholeAgent = async (argv: readonly string[], options: WholeAgentOptions = {}): Promise<WholeAgent> => {
  const {plane, log = noLog, machine} = options;
  const clock = options.clock ?? plane?.clock ?? new VirtualClock();
  const host = options.host ?? memoryMachine();
  const runtime = options.runtime ?? new RecordingRuntime(clock);
  const parsed = await configured(parseFlags(platletFlags, [...apart(host, argv), ...argv]));
  const checked = await checkedSettings({parsed, log}, {isCgroupV1: async () => false, hasSwap: async () => false});
  const settings = {...checked, podLogsDir: join(host.root, 'logs/pods')};
  const {options: flags} = parsed;
  const naming = plane?.naming ?? namingOf('plat');
  const nodeName = nodeNameOf(hostOf(flags));
  const allowances = new Map<string, Allowance | undefined>();
  const user = {name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]};
  const connection = plane && {
    client(part: string, allowance?: Allowance) {
      allowances.set(part, allowance);
      return plane.client(user);
    },
  };
  const meter = new MetricsRegistry();
  const random = seededRandom(1);
  const lifetime = new AbortController();
  const shared = {naming, clock, random, log};
  const security = await agentSecurity({
    ...shared,
    settings,
    delegate: options.delegate ?? connection?.client('reviews'),
    files: systemFiles,
    signal: lifetime.signal,
    withUid: false,
  });
  const given = {parsed, clock, log, verbosity: new Verbosity(0, ''), version: versionInfoOf(parsed)};
  const {follow: _, ...certificate} = settings.enableServer
    ? await agentServing(given, settings, {host: hostOf(flags), name: naming.agent, signal: lifetime.signal})
    : {follow: undefined, tls: {}};
  const debugging = settings.enableServer ? debugRoutes(given, settings, naming) : [];
  const starting = startAgent({
    ...shared,
    identity: identityOf(flags, settings, {
      naming,
      nodeName,
      host: hostOf(flags),
      version: 'v1.35.0',
      machine: {...theMachine, ...machine},
      addresses,
    }),
    settings,
    clients: clientsOf(connection, settings, naming),
    runtime,
    runtimeVersion: await runtime.version(),
    host: holding(clock, host),
    flags: agentFlagsOf(flags, settings),
    network: systemNetwork(clock),
    files: holding(clock, filesOf(host)),
    meter,
    metrics: agentMetrics(meter, naming),
    gate: gateOf(parsed),
    serving: {...security, ...certificate, routes: [], debugging},
    ...options.parts,
  });
  const [agent] = await Promise.all([starting, clock.drain()]);
  await clock.drain();
  return {
    agent,
    host,
    runtime,
    clock,
    nodeName,
    allowances,
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await agent[Symbol.asyncDispose]();
      await clock.drain();
      if (!options.host) host[Symbol.dispose]();
    },
  };
};
