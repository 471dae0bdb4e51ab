// Builds the configurations of sandboxes and containers, and the files that they refer to.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import type {Random} from '#src/base/random.js';
import {noOptions, type ContainerOptions} from './container-options.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import type {ContainerConfigRequest, PodConfigs, PodMounts} from '#src/platlet/pod/ports.js';
import type {ContainerConfig, ContainerResources, MountConfig, SandboxConfig, SandboxUpdate} from '#src/platlet/runtime/configs.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {UserNamespaces} from '#src/platlet/user-namespaces/user-namespaces.js';
import {containerConfig} from './container-config.js';
import type {Environments} from './environment.js';
import {hostNetworkHostsFile, podHostsFile} from './hosts-file.js';
import {kernelHostname, podNames} from './hostname.js';
import {podResolver} from './resolver.js';
import {containerResources, sandboxResources, sandboxUpdate, type AssignedResources, type ResourceSettings} from './resources.js';
import {sandboxConfig} from './sandbox-config.js';
import {containerSecurity, type SecuritySettings} from './security.js';

/** What the resource managers have assigned. */
export interface AssignedToContainers {
  /**
   * Called before a container is created. Resolves once the assignments are saved: no other agent process gives them to
   * other containers then.
   */
  creating(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<void>;
  assignedTo(pod: Frozen<Pod>, container: Frozen<AnyContainer>): AssignedResources;
  /** Returns what a container that is about to start gets with its devices. */
  optionsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): Promise<ContainerOptions>;
  /** Whether the cpu limit of a pod is not enforced by a quota, since containers of it have CPUs of their own. */
  isUnthrottled(pod: Frozen<Pod>): boolean;
}

export interface PodConfigSettings {
  readonly resources: ResourceSettings;
  /** The resource managers of the node; absent without them. */
  readonly managers?: AssignedToContainers;
  readonly security: SecuritySettings;
  /** The user namespaces of pods; absent where they are not supported. */
  readonly users?: Pick<UserNamespaces, 'of'> | undefined;
  /** The name of the agent in messages. */
  readonly agent: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** The resolver configuration file of the host; empty if pods do not inherit it. */
  readonly resolverFile: string;
}

export interface PodConfigsParts {
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly random: Random;
  readonly events: EventRecorder;
  readonly environments: Pick<Environments, 'of'>;
  readonly mounts: PodMounts;
  /** Returns the handler of a RuntimeClass. Rejects with `NotFound` if it does not exist. */
  handlerOf(runtimeClass: string): Promise<string>;
  readonly settings: PodConfigSettings;
}

const hostsPath = '/etc/hosts';
const hostsMode = 0o644;
const logMode = 0o755;
const messageMode = 0o666;
const folderMode = 0o750;

/** Whether a container mounts a volume at the path. */
const mountsAt = ({volumeMounts = []}: Frozen<AnyContainer>, path: string): boolean =>
  volumeMounts.some(({mountPath}) => mountPath.replace(/\/+$/, '') === path);

/** Builds the configurations of a node's pods. */
export class NodePodConfigs implements PodConfigs {
  readonly #parts: PodConfigsParts;

  constructor(parts: PodConfigsParts) {
    this.#parts = parts;
  }

  async sandbox(
    pod: Frozen<Pod>,
    attempt: number,
    cgroupParent: string,
  ): Promise<{readonly config: SandboxConfig; readonly handler: string}> {
    const {host, folders, settings, events, mounts} = this.#parts;
    const {runtimeClassName, hostUsers} = pod.spec ?? {};
    const handler = runtimeClassName ? await this.#handler(runtimeClassName) : '';
    if (hostUsers !== undefined && !settings.users)
      throw new Error('the feature gate "UserNamespacesSupport" is disabled: can\'t set spec.HostUsers');
    const users = settings.users && ((await settings.users.of(pod, handler)) ?? ('node' as const));
    const logDirectory = folders.logs(pod);
    await host.makeFolder(logDirectory, logMode);
    const {dns, warnings} = podResolver(pod, {...settings, hostFile: await this.#resolverFile()});
    for (const [reason, message] of warnings) events.warning(pod, reason, message);
    const hostname = kernelHostname(pod, podNames(pod, settings.clusterDomain));
    const volumeGroups = mounts.groupsOf?.(pod) ?? [];
    const resources = sandboxResources(pod, settings.resources, settings.managers?.isUnthrottled(pod));
    const facts = {attempt, cgroupParent, hostname, dns, logDirectory, resources, volumeGroups, ...(users ? {users} : {})};
    return {handler, config: sandboxConfig(pod, facts)};
  }

  resources(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ContainerResources {
    const {settings} = this.#parts;
    return containerResources(pod, container, settings.resources, settings.managers?.assignedTo(pod, container));
  }

  sandboxUpdate(pod: Frozen<Pod>, limits: ContainerResources): SandboxUpdate {
    return sandboxUpdate(pod, limits, this.#parts.settings.resources);
  }

  async container(request: ContainerConfigRequest): Promise<ContainerConfig> {
    const {pod, container, attempt, sandbox, image, targetId} = request;
    const {host, folders, environments, settings} = this.#parts;
    const {users} = sandbox.security.namespaces;
    const security = containerSecurity(pod, container, {
      image,
      volumeGroups: this.#parts.mounts.groupsOf?.(pod) ?? [],
      settings: settings.security,
      ...(users ? {users} : {}),
      ...(targetId === undefined ? {} : {targetId}),
    });
    await host.makeFolder(join(sandbox.logDirectory, container.name), logMode);
    const options = (await settings.managers?.optionsOf(pod, container)) ?? noOptions;
    const environment = new Map([...options.environment, ...(await environments.of({pod, container, addresses: request.addresses}))]);
    const mounts: MountConfig[] = [
      ...options.mounts,
      ...(await this.#parts.mounts.mountsOf(pod, container, environment, request.imageVolumes)),
    ];
    const relabel = (await host.isSelinuxEnabled()) ? {selinuxRelabel: true} : {};
    if (!mountsAt(container, hostsPath))
      mounts.push({...(await this.#hostsMount(pod, request.addresses, security.readonlyRootfs === true)), ...relabel});
    if (container.terminationMessagePath) mounts.push({...(await this.#messageMount(pod, container)), ...relabel});
    await settings.managers?.creating(pod, container);
    const resources = this.resources(pod, container);
    await host.makeFolder(folders.container(sandbox.pod.uid, container.name), folderMode);
    const devices = [...options.devices, ...(this.#parts.mounts.devicesOf?.(pod, container) ?? [])];
    const mapped = users && users !== 'node' ? mounts.map(mount => ({...mount, users})) : mounts;
    return containerConfig({...request, attempt}, {environment, mounts: mapped, resources, security, options: {...options, devices}});
  }

  async #handler(name: string): Promise<string> {
    try {
      return await this.#parts.handlerOf(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      throw new Error(`failed to get sandbox runtime: ${error.message}`, {cause: error});
    }
  }

  async #resolverFile(): Promise<string | undefined> {
    const {host, settings} = this.#parts;
    if (!settings.resolverFile) return undefined;
    const content = await host.read(settings.resolverFile);
    if (!content) throw new Error(`open ${settings.resolverFile}: no such file or directory`);
    return content.toString();
  }

  /** Creates the hosts file of the pod if it does not exist. */
  async #hostsMount(pod: Frozen<Pod>, addresses: readonly string[], isReadonly: boolean): Promise<MountConfig> {
    const {host, folders, settings} = this.#parts;
    const {metadata, spec} = pod;
    const path = folders.hostsFile(metadata?.uid ?? '');
    const aliases = spec?.hostAliases ?? [];
    const text = spec?.hostNetwork
      ? hostNetworkHostsFile(String((await host.read(hostsPath)) ?? ''), aliases)
      : podHostsFile({addresses, aliases, ...podNames(pod, settings.clusterDomain)});
    await host.makeFolder(folders.pod(metadata?.uid ?? ''), folderMode);
    await host.writeFile(path, text, hostsMode);
    return {containerPath: hostsPath, hostPath: path, readonly: isReadonly, propagation: 'private'};
  }

  async #messageMount(pod: Frozen<Pod>, {name, terminationMessagePath = ''}: Frozen<AnyContainer>): Promise<MountConfig> {
    const {host, folders, random} = this.#parts;
    const folder = folders.container(pod.metadata?.uid ?? '', name);
    await host.makeFolder(folder, folderMode);
    const path = join(folder, Buffer.from(random.bytes(4)).toString('hex'));
    await host.writeFile(path, '', messageMode);
    return {containerPath: terminationMessagePath, hostPath: path, readonly: false, propagation: 'private'};
  }
}
