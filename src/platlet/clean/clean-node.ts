// Removes from a machine what an agent has left on it: its pods in the runtime with their networks, mounts, cgroups,
// folders and logs. The images of the runtime and the certificates of the agent stay.

import {join, relative} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {removeGroup, type CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {stateFiles, type NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, removeUnmounted, type Host} from '#src/platlet/host/host.js';
import {keptParameters} from '#src/platlet/host/kernel-parameters.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {createdChains, deleteKeptChains} from '#src/platlet/utility-chains/created-chains.js';

export interface CleanParts {
  readonly runtime: Pick<Runtime, 'pods' | 'stopContainer' | 'removeContainer' | 'stopSandbox' | 'removeSandbox'>;
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly hierarchy: CgroupHierarchy;
  /** The cgroups as slices of systemd, where there are such. */
  readonly slices?: CgroupHierarchy;
  /** The cgroup of all pods. */
  readonly podsGroup: string;
  /** How long containers may take to stop, in seconds. */
  readonly graceSeconds: number;
  /** Whether all pods of the runtime are removed, and not only those of the agent. */
  readonly all: boolean;
}

/** What was removed, and what could not be. */
export interface Cleaned {
  readonly containers: number;
  readonly sandboxes: number;
  readonly mounts: number;
  /** The chains of iptables: `KUBE-FIREWALL (filter, IPv4)`. */
  readonly chains: readonly string[];
  /** What the agent has set and no one has set back: `vm/overcommit_memory=1 (0 before)`. */
  readonly parameters: readonly string[];
  /** One line each; empty if nothing is left. */
  readonly failures: readonly string[];
}

/** The names in the folder of an agent that are its own; its certificates are not among them. */
const ownNames = [
  'pods',
  'plugins',
  'plugins_registry',
  'pod-resources',
  'device-plugins',
  'checkpoints',
  'image_manager',
  ...Object.values(stateFiles),
  'graceful_node_shutdown_state',
  keptParameters,
  createdChains,
];

/** The name of the log folder of a pod: namespace, name and UID. */
const logFolder = /^[^_]+_[^_]+_([^_]+)$/;

/** Returns the UIDs of the pods of which an agent has files. */
export const podsOfAgent = async (host: Pick<Host, 'list'>, folders: NodeFolders): Promise<ReadonlySet<string>> => {
  const logged = (await host.list(folders.podLogs)).flatMap(name => logFolder.exec(name)?.[1] ?? []);
  return new Set([...(await host.list(folders.pods)), ...logged]);
};

/** Does a part of the work. Its failure is noted, and the rest is done. */
type Attempt = <T>(what: string, work: () => Promise<T>) => Promise<T | undefined>;

/** Removes all that an agent has left. An agent that runs creates it again: it has to be stopped before. */
export const cleanNode = async (parts: CleanParts): Promise<Cleaned> => {
  const {host, folders, hierarchy, slices, podsGroup} = parts;
  const failures: string[] = [];
  const attempt: Attempt = async (what, work) => {
    try {
      return await work();
    } catch (error) {
      failures.push(`${what}: ${messageOf(error)}`);
      return undefined;
    }
  };
  const uids = await podsOfAgent(host, folders);
  const found = (await attempt('the pods of the runtime', () => parts.runtime.pods())) ?? [];
  const pods = found.filter(({pod: {uid}}) => parts.all || uids.has(uid));
  for (const pod of pods) await attempt(`pod ${pod.pod.namespace}/${pod.pod.name}`, () => removePod(parts, pod));
  for (const of of slices ? [hierarchy, slices] : [hierarchy]) {
    const isGone = await attempt(`cgroup ${podsGroup}`, () => removeGroup(host, of, podsGroup));
    if (isGone === false) failures.push(`cgroup ${podsGroup}: it has processes that do not end`);
  }
  const mounts = (await mountsBelow(host, folders.root)).filter(({path}) => path !== folders.root).length;
  const parameters = await parametersIn(host, folders.root);
  const chains = (await attempt('chains of iptables', () => deleteKeptChains(host, folders.root))) ?? [];
  for (const name of ownNames) await attempt(join(folders.root, name), () => removeOwn(host, join(folders.root, name)));
  await removeLogs(parts, new Set([...uids, ...pods.map(({pod}) => pod.uid)]), attempt);
  return {
    containers: pods.reduce((sum, {containers}) => sum + containers.length, 0),
    sandboxes: pods.reduce((sum, {sandboxes}) => sum + sandboxes.length, 0),
    mounts,
    chains,
    parameters,
    failures,
  };
};

const removePod = async ({runtime, graceSeconds}: CleanParts, {sandboxes, containers}: RuntimePod): Promise<void> => {
  await Promise.all(containers.filter(({state}) => state !== 'exited').map(({id}) => runtime.stopContainer(id, graceSeconds)));
  for (const {id} of sandboxes) await runtime.stopSandbox(id);
  for (const {id} of containers) await runtime.removeContainer(id);
  for (const {id} of sandboxes) await runtime.removeSandbox(id);
};

const removeOwn = async (host: Host, path: string): Promise<void> => {
  const kind = (await host.linkStatus(path))?.kind;
  if (kind === 'folder') await removeUnmounted(host, path);
  else if (kind !== undefined) await host.removeFile(path);
};

/** Removes the logs of pods, and the links to them. */
const removeLogs = async (
  {host, folders: {podLogs, containerLogs}}: CleanParts,
  uids: ReadonlySet<string>,
  attempt: Attempt,
): Promise<void> => {
  const isOwn = (name: string): boolean => uids.has(logFolder.exec(name)?.[1] ?? '');
  for (const name of await host.list(podLogs))
    if (isOwn(name)) await attempt(join(podLogs, name), () => host.removeTree(join(podLogs, name)));
  if (containerLogs === undefined) return;
  for (const name of await host.list(containerLogs)) {
    const link = join(containerLogs, name);
    if ((await host.linkStatus(link))?.kind !== 'link') continue;
    const [folder = ''] = relative(podLogs, await host.linkTarget(link)).split('/', 1);
    if (isOwn(folder)) await attempt(link, () => host.removeFile(link));
  }
};

const parametersIn = async (host: Host, root: string): Promise<readonly string[]> => {
  const kept = await host.read(join(root, keptParameters));
  if (!kept) return [];
  try {
    const before = JSON.parse(kept.toString()) as Readonly<Record<string, {readonly before: number; readonly set: number}>>;
    return Object.entries(before).map(([name, value]) => `${name}=${value.set} (${value.before} before)`);
  } catch {
    return [];
  }
};
