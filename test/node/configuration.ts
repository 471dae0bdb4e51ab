// The configuration of a containerd and of the network of its pods, all in one folder.

import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {networkFile, networkText} from '#src/cli/node/network.js';
import {networkPlugins} from './requirements.js';

export const pauseImage = 'plat.local/pause:1';

export interface ContainerdSettings {
  readonly folder: string;
  /** The address of its streams. */
  readonly address: string;
  /** The range of its pods. */
  readonly pods: string;
  readonly snapshotter: string;
  /** Whether pods have a network from the beginning. */
  readonly hasNetwork: boolean;
}

const containerdConfig = ({folder, address, snapshotter}: ContainerdSettings): string => `version = 2
root = "${folder}/root"
state = "${folder}/state"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "${folder}/containerd.sock"
[ttrpc]
  address = "${folder}/containerd.sock.ttrpc"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  stream_server_address = "${address}"
  stream_server_port = "0"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "${networkPlugins}"
  conf_dir = "${folder}/cni/conf"
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "${folder}/registries"
[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = "${snapshotter}"
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
`;

/** The network configuration that `plat node init` writes. */
const initialNetwork = JSON.parse(networkText(['10.244.0.0/24'], 'cni0')) as {
  readonly name: string;
  readonly plugins: readonly [{readonly ipam: object}, ...object[]];
};

export const networkName = initialNetwork.name;

/** The same for a range and a folder of its own. */
const podNetwork = (folder: string, subnet: string): string => {
  const {plugins, ...network} = initialNetwork;
  const [bridge, ...others] = plugins;
  const ipam = {...bridge.ipam, dataDir: join(folder, 'cni/net'), ranges: [[{subnet}]]};
  // Other nodes of a test have to see the addresses of pods.
  return JSON.stringify({...network, plugins: [{...bridge, ipMasq: false, ipam}, ...others]});
};

/** Writes the configuration of the pods' network, after which they have one. */
export const writePodNetwork = ({folder, pods}: Pick<ContainerdSettings, 'folder' | 'pods'>): void =>
  writeFileSync(join(folder, 'cni/conf', networkFile), podNetwork(folder, pods));

/** Writes the files of a containerd. */
export const writeConfiguration = (settings: ContainerdSettings): void => {
  const {folder, hasNetwork} = settings;
  for (const name of ['cni/conf', 'cni/net', 'registries', 'opt']) mkdirSync(join(folder, name), {recursive: true});
  writeFileSync(join(folder, 'config.toml'), containerdConfig(settings));
  if (hasNetwork) writePodNetwork(settings);
};
