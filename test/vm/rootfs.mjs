// The root file system of the virtual machine: Debian's packages unpacked, plat as it is installed, and the checks.

import {execFileSync} from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import {dirname, join} from 'node:path';

const write = (root, path, text, mode = 0o644) => {
  mkdirSync(dirname(join(root, path)), {recursive: true});
  writeFileSync(join(root, path), text, {mode});
  chmodSync(join(root, path), mode);
};

const unpack = (root, packages) => {
  for (const name of ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']) {
    mkdirSync(join(root, 'usr', name), {recursive: true});
    symlinkSync(`usr/${name}`, join(root, name));
  }
  for (const file of packages)
    execFileSync('sh', ['-c', 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"', 'unpack', file, root]);
  for (const name of ['dev', 'proc', 'sys', 'run', 'tmp', 'root', 'swap']) mkdirSync(join(root, name), {recursive: true});
};

/** What the scripts of the packages would do. */
const configure = root => {
  const master = name => readFileSync(join(root, 'usr/share/base-passwd', `${name}.master`), 'utf8');
  write(root, 'etc/passwd', `${master('passwd').replaceAll(':*:', ':x:')}messagebus:x:100:100::/nonexistent:/usr/sbin/nologin\n`);
  write(root, 'etc/group', `${master('group').replaceAll(':*:', ':x:')}messagebus:x:100:\n`);
  write(root, 'etc/hostname', 'node-vm\n');
  write(root, 'etc/hosts', '127.0.0.1 localhost node-vm\n');
  write(root, 'etc/resolv.conf', 'nameserver 127.0.0.1\n');
  write(root, 'etc/fstab', '');
  write(root, 'etc/machine-id', '0123456789abcdef0123456789abcdef\n');
  for (const name of ['iptables', 'ip6tables']) {
    rmSync(join(root, 'usr/sbin', name), {force: true});
    symlinkSync('xtables-nft-multi', join(root, 'usr/sbin', name));
  }
  for (const unit of ['getty.target', 'systemd-timesyncd.service', 'systemd-networkd-wait-online.service', 'apt-daily.timer'])
    symlinkSync('/dev/null', join(root, 'etc/systemd/system', unit));
  execFileSync('chroot', [root, 'ldconfig']);
  const [kernel] = readdirSync(join(root, 'usr/lib/modules'));
  execFileSync('chroot', [root, 'depmod', kernel]);
  return kernel;
};

/** Copies a package of node_modules with those that it depends on. */
const copyModule = (from, to, name, copied = new Set()) => {
  const source = join(from, 'node_modules', name);
  if (copied.has(name) || !existsSync(source)) return;
  copied.add(name);
  cpSync(source, join(to, 'node_modules', name), {recursive: true, dereference: true});
  const {dependencies = {}, optionalDependencies = {}} = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  for (const each of Object.keys({...dependencies, ...optionalDependencies})) copyModule(from, to, each, copied);
};

const installPlat = (root, repository) => {
  const folder = join(root, 'plat');
  for (const name of ['bin', 'dist/bundle', 'dist/schema', 'package.json'])
    cpSync(join(repository, name), join(folder, name), {recursive: true});
  copyModule(repository, folder, 'lmdb');
  copyFileSync(process.execPath, join(root, 'usr/bin/node'));
  symlinkSync('/plat/bin/plat', join(root, 'usr/bin/plat'));
};

const network = {
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: false, ipam: {type: 'host-local', ranges: [[{subnet: '10.88.0.0/24'}]]}},
  ],
};

const containerd = isSystemd => `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "plat.local/pause:1"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = ${isSystemd}
`;

const platUnit = `[Unit]
After=containerd.service dbus.service systemd-logind.service
[Service]
# The machine has no network, and requests are not relayed to a loopback address.
ExecStartPre=/bin/sh -c 'ip address add 10.99.0.1/32 dev lo || true'
ExecStart=/usr/bin/plat up --agent --data-dir=/var/lib/plat --agent-arg=--config=/etc/plat/agent.yaml --agent-arg=--hostname-override=node-vm --agent-arg=--node-ip=10.99.0.1 --agent-arg=-v=2
Delegate=yes
StandardOutput=append:/var/log/plat.log
StandardError=append:/var/log/plat.log
`;

const checksUnit = `[Unit]
After=multi-user.target plat.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/node /checks/checks.mjs
ExecStop=/usr/bin/node /checks/after-shutdown.mjs
TimeoutStartSec=900
[Install]
WantedBy=multi-user.target
`;

const settle = (root, here) => {
  write(root, 'etc/cni/net.d/10-pods.conflist', JSON.stringify(network));
  write(root, 'etc/containerd/config.toml', containerd(false));
  write(root, 'etc/containerd/systemd.toml', containerd(true));
  write(root, 'etc/systemd/system/plat.service', platUnit);
  // Stopped before the agent is, and only when the shutdown is no longer delayed.
  write(root, 'etc/systemd/system/checks.service', checksUnit);
  mkdirSync(join(root, 'etc/systemd/system/multi-user.target.wants'), {recursive: true});
  for (const unit of ['checks.service', 'containerd.service']) {
    const at = unit === 'checks.service' ? '/etc/systemd/system' : '/lib/systemd/system';
    symlinkSync(join(at, unit), join(root, 'etc/systemd/system/multi-user.target.wants', unit));
  }
  for (const name of ['checks.mjs', 'after-shutdown.mjs', 'configuration.mjs']) {
    mkdirSync(join(root, 'checks'), {recursive: true});
    copyFileSync(join(here, name), join(root, 'checks', name));
  }
};

/**
 * Builds the file system in a folder. `images`: archives of the pause and the busybox image. Returns the kernel's
 * version.
 */
export const buildRoot = (root, {packages, images, repository, here}) => {
  rmSync(root, {recursive: true, force: true});
  mkdirSync(root, {recursive: true});
  unpack(root, packages);
  const kernel = configure(root);
  installPlat(root, repository);
  mkdirSync(join(root, 'images'));
  for (const [name, file] of Object.entries(images)) copyFileSync(file, join(root, 'images', `${name}.tar`));
  settle(root, here);
  return kernel;
};
