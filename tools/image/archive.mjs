// Makes an image as an archive in the layout of OCI, which podman, buildah, skopeo and containerd load, and docker too.
import {createHash} from 'node:crypto';
import {lstatSync, readdirSync, readFileSync, readlinkSync} from 'node:fs';
import {join} from 'node:path';
import {gzipSync} from 'node:zlib';
import {tarOf} from './tar.mjs';

const digestOf = bytes => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** Returns the entries of a folder's content, in the order of their paths, for a place in the image. */
const entriesOf = (folder, place, owner) =>
  readdirSync(folder)
    .sort()
    .flatMap(name => {
      const [file, path] = [join(folder, name), `${place}${name}`];
      const stat = lstatSync(file);
      if (stat.isSymbolicLink()) return [{path, type: 'link', mode: 0o777, target: readlinkSync(file), ...owner}];
      const mode = stat.mode & 0o7777;
      if (stat.isDirectory()) return [{path: `${path}/`, type: 'directory', mode, ...owner}, ...entriesOf(file, `${path}/`, owner)];
      return [{path, type: 'file', mode, content: readFileSync(file), ...owner}];
    });

/** Returns the layer of one COPY. Its own folder is in it where that is not the root. */
const layerOf = ({from, to, uid, gid}, context, seconds) => {
  const place = to.replace(/^\//, '');
  const own = place === '' ? [] : [{path: place, type: 'directory', mode: 0o755, uid, gid}];
  const tar = tarOf([...own, ...entriesOf(join(context, from), place, {uid, gid})], seconds);
  return {diff: digestOf(tar), bytes: gzipSync(tar, {level: 9})};
};

const mediaType = name => `application/vnd.oci.image.${name}`;
const descriptor = (type, bytes) => ({mediaType: mediaType(type), digest: digestOf(bytes), size: bytes.length});
const json = value => Buffer.from(JSON.stringify(value));

/** The processors of Node.js by their names in images. */
const architectures = {x64: 'amd64', arm64: 'arm64', arm: 'arm', ppc64: 'ppc64le', s390x: 's390x'};

/** Returns the configuration of an image. */
const configurationOf = ({config, layers, arch, seconds}) => {
  const created = new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
  return {
    created,
    architecture: architectures[arch] ?? arch,
    os: 'linux',
    config,
    rootfs: {type: 'layers', diff_ids: layers.map(({diff}) => diff)},
    history: layers.map(({comment}) => ({created, created_by: comment})),
  };
};

/**
 * Returns the archive of the image that a Containerfile describes, and the digest of its manifest. `context` is the
 * folder that it copies from, `name` the image's, `seconds` the time of all files.
 */
export const archiveOf = ({copies, config}, {context, name, arch, seconds}) => {
  const layers = copies.map(copy => ({...layerOf(copy, context, seconds), comment: `COPY ${copy.from} ${copy.to}`}));
  const configuration = json(configurationOf({config, layers, arch, seconds}));
  const manifest = json({
    schemaVersion: 2,
    mediaType: mediaType('manifest.v1+json'),
    config: descriptor('config.v1+json', configuration),
    layers: layers.map(({bytes}) => descriptor('layer.v1.tar+gzip', bytes)),
  });
  const annotations = {'org.opencontainers.image.ref.name': name};
  const blobs = [...layers.map(({bytes}) => bytes), configuration, manifest];
  const pathOf = bytes => `blobs/${digestOf(bytes).replace(':', '/')}`;
  const file = (path, content) => ({path, type: 'file', mode: 0o644, content});
  const index = {
    schemaVersion: 2,
    mediaType: mediaType('index.v1+json'),
    manifests: [{...descriptor('manifest.v1+json', manifest), annotations}],
  };
  // Docker before 25 reads this list instead of the index.
  const docker = [{Config: pathOf(configuration), RepoTags: [name], Layers: layers.map(({bytes}) => pathOf(bytes))}];
  const bytes = tarOf(
    [
      file('oci-layout', json({imageLayoutVersion: '1.0.0'})),
      file('index.json', json(index)),
      file('manifest.json', json(docker)),
      ...['blobs/', 'blobs/sha256/'].map(path => ({path, type: 'directory', mode: 0o755})),
      ...blobs.map(blob => file(pathOf(blob), blob)),
    ],
    seconds,
  );
  return {bytes, digest: digestOf(manifest)};
};
