// The Debian packages of the virtual machine: downloaded with all that they depend on, and unpacked without being
// installed.

import {execFileSync} from 'node:child_process';
import {mkdirSync, readdirSync} from 'node:fs';
import {join} from 'node:path';

const wanted = `
base-files base-passwd bash coreutils dash findutils gawk grep hostname procps sed util-linux
mount kmod iproute2 iptables libc-bin libstdc++6 libatomic1 login passwd
systemd systemd-sysv dbus libpam-systemd udev busybox-static
containerd runc containernetworking-plugins kubernetes-client linux-image-cloud-amd64
`
  .trim()
  .split(/\s+/);

/**
 * Downloads the packages into a folder, unless they are there, and returns their paths. Throws if they cannot be had.
 */
export const downloadPackages = folder => {
  mkdirSync(join(folder, 'partial'), {recursive: true});
  const options = {
    'Dir::State::status': '/dev/null',
    'Dir::Cache::archives': folder,
    'APT::Install-Recommends': 'false',
    'Debug::NoLocking': '1',
  };
  const settings = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  // An empty list of installed packages makes all that they depend on missing.
  execFileSync('apt-get', ['--yes', ...settings, 'install', '--download-only', ...wanted], {stdio: ['ignore', 'ignore', 'pipe']});
  return readdirSync(folder)
    .filter(name => name.endsWith('.deb'))
    .map(name => join(folder, name));
};
