// Checks the node agent in a virtual machine, for what this machine lacks: cgroups of version 2, NUMA nodes, systemd
// with logind, swap, pressure. Builds the machine from Debian packages and this checkout, and prints a line for each
// check. Needs root, apt-get, qemu-system-x86_64 and mke2fs; says what is missing, and ends well, where they are not to
// be had.

import {execFileSync, spawn} from 'node:child_process';
import {createWriteStream, mkdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {fileURLToPath} from 'node:url';
import {imageArchive} from '../../dist/test/node/images/index.js';
import {initrd} from './initrd.mjs';
import {downloadPackages} from './packages.mjs';
import {buildRoot} from './rootfs.mjs';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const here = join(repository, 'test/vm');
const cache = join(repository, '.plat/node-vm');
const longestMs = 40 * 60_000;

/** Returns why the machine cannot be built; undefined if it can. */
const missing = () => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'it runs on Linux on x86-64 alone';
  if (process.getuid() !== 0) return 'it needs root';
  for (const program of ['apt-get', 'dpkg-deb', 'mke2fs', 'qemu-system-x86_64', 'chroot'])
    try {
      execFileSync('sh', ['-c', `command -v ${program}`], {stdio: 'ignore'});
    } catch {
      return `${program} is not installed`;
    }
  return undefined;
};

const skip = reason => {
  console.log(`SKIP the virtual machine: ${reason}`);
  process.exit(0);
};

const build = () => {
  mkdirSync(cache, {recursive: true});
  let packages;
  try {
    packages = downloadPackages(join(cache, 'packages'));
  } catch (error) {
    skip(
      `packages cannot be had: ${String(error.stderr ?? error.message)
        .trim()
        .split('\n')
        .at(-1)}`,
    );
  }
  const root = join(cache, 'root');
  const images = {pause: imageArchive('pause'), busybox: imageArchive('busybox')};
  const kernel = buildRoot(root, {packages, images, repository, here});
  if (process.env.CHECKS) writeFileSync(join(root, 'checks/only'), process.env.CHECKS);
  writeFileSync(join(cache, 'initrd'), initrd(root, kernel));
  const disk = join(cache, 'disk');
  rmSync(disk, {force: true});
  execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', root, disk, '4G']);
  return {kernel: join(root, 'boot', `vmlinuz-${kernel}`), disk};
};

/** Boots the machine, prints the lines of its checks, and resolves to the number of those that failed. */
const boot = async ({kernel, disk}) => {
  const node = (id, cpus) => ['-object', `memory-backend-ram,id=${id},size=1536M`, '-numa', `node,memdev=${id},cpus=${cpus}`];
  const args = [
    '-accel tcg,thread=multi -cpu max -m 3072 -smp 4 -nographic -no-reboot -nic none'.split(' '),
    node('m0', '0-1'),
    node('m1', '2-3'),
    ['-kernel', kernel, '-initrd', join(cache, 'initrd'), '-append', 'console=ttyS0 psi=1 quiet systemd.show_status=0'],
    ['-drive', `file=${disk},format=raw,if=virtio`],
  ].flat();
  const child = spawn('qemu-system-x86_64', args, {stdio: ['ignore', 'pipe', 'inherit']});
  const limit = setTimeout(() => child.kill('SIGKILL'), longestMs);
  let failed = 0;
  let isOver = false;
  const log = createWriteStream(join(cache, 'console.log'));
  for await (const line of createInterface({input: child.stdout})) {
    const text = line.trimEnd().replace(/^.*?(?=(?:PASS|FAIL|SKIP) )/, '');
    log.write(`${text}\n`);
    if (/^(PASS|FAIL|SKIP|  )/.test(text)) console.log(text);
    if (text.startsWith('FAIL')) failed++;
    if (/^(PASS|FAIL) graceful shutdown:/.test(text)) isOver = true;
  }
  clearTimeout(limit);
  log.end();
  if (isOver) return failed;
  console.log(`FAIL the machine ended before its checks: its console is in ${join(cache, 'console.log')}`);
  return failed + 1;
};

const reason = missing();
if (reason) skip(reason);
process.exitCode = (await boot(build())) > 0 ? 1 : 0;
