// The first root of the virtual machine: loads the modules for its disk, and goes on with the system on it.

import {readFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {gzipSync} from 'node:zlib';

const modules = ['virtio_pci', 'virtio_blk', 'crc32c_generic', 'ext4'];

const script = names => `#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
${names.map(name => `/bin/busybox insmod /modules/${name}`).join('\n')}
while [ ! -b /dev/vda ]; do /bin/busybox sleep 0.1; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox umount /dev
exec /bin/busybox switch_root /root /lib/systemd/systemd
`;

/** Returns the files of modules with those that they need, the latter first, by modules.dep. */
const inOrder = folder => {
  const needs = new Map(
    readFileSync(join(folder, 'modules.dep'), 'utf8')
      .split('\n')
      .flatMap(line => {
        const [file, list] = line.split(':');
        return list === undefined ? [] : [[file, list.trim().split(' ').filter(Boolean)]];
      }),
  );
  const found = new Set();
  const add = file => {
    for (const need of needs.get(file) ?? []) add(need);
    found.add(file);
  };
  for (const name of modules) for (const file of needs.keys()) if (basename(file) === `${name}.ko`) add(file);
  return [...found];
};

const hex = number => number.toString(16).padStart(8, '0');

/** An archive as cpio writes them (newc). */
const archive = entries => {
  const padded = bytes => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
  const one = ([name, mode, content], index) => {
    const fields = [index + 1, mode, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
    return Buffer.concat([padded(Buffer.from(`070701${fields.map(hex).join('')}${name}\0`)), padded(content)]);
  };
  return Buffer.concat([...entries, ['TRAILER!!!', 0, Buffer.alloc(0)]].map(one));
};

/** Returns the image for a root file system with modules of a kernel. */
export const initrd = (root, kernel) => {
  const folder = join(root, 'usr/lib/modules', kernel);
  const files = inOrder(folder);
  const names = files.map(file => basename(file));
  const folders = ['bin', 'dev', 'modules', 'root'].map(name => [name, 0o40755, Buffer.alloc(0)]);
  return gzipSync(
    archive([
      ...folders,
      ['bin/busybox', 0o100755, readFileSync(join(root, 'usr/bin/busybox'))],
      ['init', 0o100755, Buffer.from(script(names))],
      ...files.map(file => [`modules/${basename(file)}`, 0o100644, readFileSync(join(folder, file))]),
    ]),
  );
};
