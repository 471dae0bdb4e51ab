// Writes what the executable needs of a system into a folder, the base of the image: the libraries of this machine that
// it is linked with, certificates of authorities, and the files of users and names.
import {execFileSync, spawnSync} from 'node:child_process';
import {chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {rootCertificates} from 'node:tls';

/** The user that programs of the image run as. */
export const user = {name: 'plat', id: 65_532, home: '/var/lib/plat'};

/** Libraries that glibc before 2.34 loads to find the address of a name. */
const lateLibraries = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2'];

/** Returns the paths of the libraries that a program is linked with, as its loader finds them. */
export const librariesOf = program => {
  const linked = [...execFileSync('ldd', [program], {encoding: 'utf8'}).matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
  const folder = dirname(linked.find(path => /\/libc\.so\.\d+$/.test(path)) ?? '/');
  return [...new Set([...linked, ...lateLibraries.map(name => join(folder, name)).filter(path => existsSync(path))])].sort();
};

const query = (...args) => spawnSync('dpkg-query', args, {encoding: 'utf8'});

/** Returns the Debian packages that files belong to; none on a system without dpkg. */
export const packagesOf = files => {
  const owners = files.map(file => [file, realpathSync(file)].map(path => query('--search', path)).find(({status}) => status === 0));
  const names = [...new Set(owners.flatMap(found => (found ? [found.stdout.split(': ')[0]] : [])))].sort();
  return names.map(full => {
    const [name, version, arch] = query('--show', '--showformat=${Package}\t${Version}\t${Architecture}', full).stdout.split('\t');
    return {name, version, arch, record: query('--status', full).stdout, licenceFile: `/usr/share/doc/${name}/copyright`};
  });
};

const put = (root, path, content) => {
  const file = join(root, path);
  mkdirSync(dirname(file), {recursive: true});
  writeFileSync(file, content);
};

const putCopy = (root, path) => {
  const file = join(root, path);
  mkdirSync(dirname(file), {recursive: true});
  copyFileSync(realpathSync(path), file);
};

/**
 * Writes the libraries, with the records and licences of their packages, where programs that look for known errors read
 * them.
 */
const putLibraries = (root, libraries) => {
  for (const library of libraries) {
    putCopy(root, library);
    chmodSync(join(root, library), 0o755);
  }
  for (const {name, record, licenceFile} of packagesOf(libraries)) {
    put(root, `/var/lib/dpkg/status.d/${name}`, record);
    putCopy(root, licenceFile);
  }
  if (existsSync('/etc/os-release')) put(root, '/etc/os-release', readFileSync('/etc/os-release'));
};

/** Writes the base for a program into an empty folder. */
export const writeBase = (root, program) => {
  const {name, id, home} = user;
  putLibraries(root, librariesOf(program));
  put(root, '/etc/passwd', `root:x:0:0:root:/root:/sbin/nologin\n${name}:x:${id}:${id}:${name}:${home}:/sbin/nologin\n`);
  put(root, '/etc/group', `root:x:0:\n${name}:x:${id}:\n`);
  put(root, '/etc/nsswitch.conf', 'hosts: files dns\n');
  put(root, '/etc/ssl/certs/ca-certificates.crt', rootCertificates.map(each => `${each.trim()}\n`).join(''));
  mkdirSync(join(root, 'tmp'));
  chmodSync(join(root, 'tmp'), 0o1777);
};
