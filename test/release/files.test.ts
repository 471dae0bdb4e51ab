import {execFile, execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {promisify} from 'node:util';
import {pathToFileURL} from 'node:url';
import {gunzipSync} from 'node:zlib';
import test from 'ava';
import {packageName, packageVersion, release} from '#src/api/version.js';
import {aDirectory} from '#test/cli/programs.js';

const execute = promisify(execFile);

const folder = 'dist/release';
const own = `plat-${packageVersion}-${process.platform}-${process.arch}`;
const isNew =
  existsSync(join(folder, 'SHA256SUMS')) && statSync(join(folder, 'SHA256SUMS')).mtimeMs >= statSync('dist/bundle/plat.cjs').mtimeMs;
if (!isNew) console.log('skipped: the files of a release are checked if they are newer than the bundles (make release-test)');
const made = isNew ? test : test.skip;

const read = (name: string): Buffer => readFileSync(join(folder, name));
const {packagesIn} = (await import(pathToFileURL(resolve('tools/notices/packages.mjs')).href)) as {
  packagesIn: (notices: string) => readonly {readonly name: string; readonly version: string}[];
};

made('the checksums are those of all files', t => {
  const sums = readdirSync(folder)
    .filter(name => name !== 'SHA256SUMS')
    .sort()
    .map(name => `${createHash('sha256').update(read(name)).digest('hex')}  ${name}\n`);

  t.is(read('SHA256SUMS').toString(), sums.join(''));
  t.true(sums.length >= 6);
});

made('the executable runs, alone and from its compressed form', async t => {
  const {stdout} = await execute(join(folder, own), ['version'], {env: {XDG_CACHE_HOME: aDirectory()}});

  t.is(stdout, `plat v${release}-plat.${packageVersion}\n`);
  t.true(gunzipSync(read(`${own}.gz`)).equals(read(own)));
});

made('the package has the files that npm lists', async t => {
  const [{files}] = JSON.parse((await execute('npm', ['pack', '--ignore-scripts', '--dry-run', '--json'])).stdout) as [
    {files: readonly {readonly path: string}[]},
  ];
  const tarball = readdirSync(folder).find(name => name.endsWith('.tgz'))!;
  const inside = execFileSync('tar', ['-tzf', join(folder, tarball)], {encoding: 'utf8'})
    .trim()
    .split('\n');

  t.deepEqual(inside.sort(), files.map(({path}) => `package/${path}`).sort());
});

interface Listed {
  readonly SPDXID: string;
  readonly name: string;
  readonly versionInfo: string;
  readonly packageFileName?: string;
  readonly checksums?: readonly {readonly checksumValue: string}[];
}

const list = isNew
  ? (JSON.parse(read(`plat-${packageVersion}.spdx.json`).toString()) as {
      readonly packages: readonly Listed[];
      readonly relationships: readonly Readonly<Record<string, string>>[];
    })
  : {packages: [], relationships: []};
const fileNamed = (pattern: RegExp) => list.packages.find(({packageFileName = ''}) => pattern.test(packageFileName))!;
const containedIn = (file: Listed): readonly Listed[] =>
  list.relationships
    .filter(each => each['spdxElementId'] === file.SPDXID && each['relationshipType'] === 'CONTAINS')
    .map(each => list.packages.find(({SPDXID}) => SPDXID === each['relatedSpdxElement'])!);
const names = (packages: readonly {readonly name: string; readonly version?: string; readonly versionInfo?: string}[]) =>
  packages.map(({name, version, versionInfo}) => `${name} ${version ?? versionInfo}`).sort();

made('the list of a release has exactly the packages of the notices, those of the executable with Node.js and LMDB', t => {
  t.deepEqual(names(containedIn(fileNamed(/\.tgz$/))), names(packagesIn(readFileSync('dist/bundle/THIRD-PARTY-NOTICES.txt', 'utf8'))));
  const ofExecutable = names(containedIn(fileNamed(new RegExp(`^${own}$`))));
  t.deepEqual(ofExecutable, names(packagesIn(read('THIRD-PARTY-NOTICES.txt').toString())));
  t.true(ofExecutable.includes(`node ${process.versions.node}`));
  t.true(ofExecutable.some(each => each.startsWith('@lmdb/lmdb-')));
});

made('the list of a release has the checksums of its files', t => {
  const described = list.packages.filter(({packageFileName}) => packageFileName !== undefined);

  t.is(described.length, process.platform === 'linux' ? 3 : 2);
  t.is(described[0]!.name, packageName);
  for (const {packageFileName, checksums} of described)
    t.is(checksums![0]!.checksumValue, createHash('sha256').update(read(packageFileName!)).digest('hex'));
});

(process.platform === 'linux' ? made : test.skip)('the image has the executable and a user without rights, and is below 150 MB', t => {
  const image = join(folder, `${own}-image.tar`);
  const blob = (digest: string) =>
    execFileSync('tar', ['-xOf', image, `blobs/${digest.replace(':', '/')}`], {maxBuffer: 1 << 28}) as unknown as Buffer;
  const index = JSON.parse(execFileSync('tar', ['-xOf', image, 'index.json'], {encoding: 'utf8'})) as {manifests: [{digest: string}]};
  const manifest = JSON.parse(blob(index.manifests[0].digest).toString()) as {config: {digest: string}; layers: {digest: string}[]};
  const {config} = JSON.parse(blob(manifest.config.digest).toString()) as {config: {User: string; Labels: Record<string, string>}};
  const layers = manifest.layers.map(({digest}) => gunzipSync(blob(digest)));
  const lines = layers.map(input => execFileSync('tar', ['-tv', '--numeric-owner'], {input, encoding: 'utf8'})).join('');

  t.is(config.User, '65532:65532');
  t.is(config.Labels['org.opencontainers.image.version'], packageVersion);
  t.regex(lines, /-rwxr-xr-x 0\/0 .* usr\/local\/bin\/plat\n/);
  for (const file of ['etc/passwd', 'etc/ssl/certs/ca-certificates.crt']) t.regex(lines, new RegExp(`-rw-r--r-- 0/0 .* ${file}\n`));
  t.true(layers.reduce((sum, {length}) => sum + length, 0) < 150e6);
});
