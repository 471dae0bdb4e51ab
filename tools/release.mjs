// Writes dist/release: the package, the executable, the image, a list of what is bundled, licences, and checksums
// (docs/releases.md).
import {execFileSync} from 'node:child_process';
import {chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {archiveOf} from './image/archive.mjs';
import {librariesOf, packagesOf} from './image/base.mjs';
import {readContainerfile} from './image/containerfile.mjs';
import {packagesIn} from './notices/packages.mjs';
import {debPurl, spdxOf} from './release/spdx.mjs';
import {formatSums, sha256} from './release/sums.mjs';
import {releaseTime} from './release/time.mjs';

const target = 'dist/release';
const fresh = `${target}.new`;
const {name: packageName, version, license: licence} = JSON.parse(readFileSync('package.json', 'utf8'));
const {platform, arch} = process;
const seconds = releaseTime();
const ownName = `plat-${version}-${platform}-${arch}`;
const written = [];

/** Writes a file of the release. Returns it with its checksum. */
const put = (name, bytes, mode = 0o644) => {
  writeFileSync(join(fresh, name), bytes);
  chmodSync(join(fresh, name), mode);
  const file = {name, sha256: sha256(bytes)};
  written.push(file);
  return file;
};

/** Packs the npm package. */
const putPackage = () => {
  const output = execFileSync('npm', ['pack', '--ignore-scripts', '--json', `--pack-destination=${fresh}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  const [{filename}] = JSON.parse(output);
  return put(filename, readFileSync(join(fresh, filename)));
};

const putExecutable = () => {
  const bytes = readFileSync('dist/binary/plat');
  put(`${ownName}.gz`, gzipSync(bytes, {level: 9}));
  return put(ownName, bytes, 0o755);
};

const putImage = () => {
  const image = readContainerfile(readFileSync('deploy/Containerfile', 'utf8'));
  const {bytes, digest} = archiveOf(image, {context: 'dist/image', name: `localhost/plat:${version}`, arch, seconds});
  return {file: put(`${ownName}-image.tar`, bytes), digest};
};

const noticesIn = file => packagesIn(readFileSync(file, 'utf8'));

/** Returns the Debian packages whose libraries are in the image. */
const systemPackages = () => {
  const packages = packagesOf(librariesOf('dist/binary/plat'));
  if (packages.length === 0)
    console.error('make release: without dpkg the list lacks the system libraries of the image, and the image their licences');
  const distribution = /^ID=(\S+)/m.exec(existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '')?.[1] ?? 'debian';
  return packages.map(each => ({
    name: each.name,
    version: each.version,
    text: readFileSync(each.licenceFile, 'utf8'),
    purl: debPurl(each, distribution),
  }));
};

const putList = (packed, executable, image) => {
  const own = {name: 'plat', version, licence};
  const program = {
    ...own,
    file: executable,
    purpose: 'APPLICATION',
    purl: `pkg:generic/plat@${version}?checksum=sha256:${executable.sha256}`,
    contains: noticesIn('dist/binary/THIRD-PARTY-NOTICES.txt').map(each =>
      each.name === 'node' ? {...each, purl: `pkg:generic/node@${each.version}`} : each,
    ),
  };
  const files = [
    {...own, name: packageName, file: packed, purpose: 'LIBRARY', contains: noticesIn('dist/bundle/THIRD-PARTY-NOTICES.txt')},
    program,
    ...(image
      ? [
          {
            ...own,
            file: image.file,
            purpose: 'CONTAINER',
            purl: `pkg:oci/plat@${image.digest.replace(':', '%3A')}?tag=${version}`,
            contains: [program, ...systemPackages()],
          },
        ]
      : []),
  ];
  const created = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  put(`plat-${version}.spdx.json`, `${JSON.stringify(spdxOf({name: 'plat', version, files, created}), undefined, 2)}\n`);
};

rmSync(fresh, {recursive: true, force: true});
mkdirSync(fresh, {recursive: true});
const packed = putPackage();
const executable = putExecutable();
const image = platform === 'linux' ? putImage() : undefined;
putList(packed, executable, image);
for (const file of ['LICENSE', 'dist/binary/THIRD-PARTY-NOTICES.txt']) put(file.split('/').at(-1), readFileSync(file));
const sums = formatSums(written);
writeFileSync(join(fresh, 'SHA256SUMS'), sums);
rmSync(target, {recursive: true, force: true});
renameSync(fresh, target);
process.stdout.write(sums);
