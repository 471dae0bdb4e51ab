// Builds the images of tests as archives that containers' tools import, once for each machine.

import {createHash} from 'node:crypto';
import {existsSync, mkdirSync, renameSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {recipes, type ImageName, type Recipe} from './recipes.js';
import {tar} from './tar.js';

export {recipes, type ImageName} from './recipes.js';

/** Outlives a run of the tests: archives are found again by what they are made from. */
const cache = join('/var/tmp', `plat-test-images-${process.getuid?.() ?? 0}`);

/** Part of the key, changed with the code of this folder. */
const edition = 1;

const digestOf = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

/** The parts of an image. */
export interface BuiltImage {
  readonly reference: string;
  readonly config: Buffer;
  readonly layer: Buffer;
}

/** Builds an image with one layer. */
export const buildImage = (name: ImageName): BuiltImage => imageOf(recipes[name]);

export const imageOf = ({reference, entries, config}: Pick<Recipe, 'reference' | 'entries' | 'config'>): BuiltImage => {
  const layer = tar(entries());
  const text = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config,
    rootfs: {type: 'layers', diff_ids: [`sha256:${digestOf(layer)}`]},
    history: [{created: '1970-01-01T00:00:00Z', created_by: 'plat'}],
  });
  return {reference, config: Buffer.from(text), layer};
};

/** Returns an image as an archive, under its own name or under others. */
export const archiveOf = ({reference, config, layer}: BuiltImage, references: readonly string[] = [reference]): Buffer => {
  const configName = `${digestOf(config)}.json`;
  const layerName = `${digestOf(layer)}/layer.tar`;
  return tar([
    {path: 'manifest.json', mode: 0o644, content: JSON.stringify([{Config: configName, RepoTags: references, Layers: [layerName]}])},
    {path: configName, mode: 0o644, content: config},
    {path: layerName, mode: 0o644, content: layer},
  ]);
};

/** Returns what an image is made from, as a key. */
const keyOf = (name: ImageName): string => {
  const {sources, ...rest} = recipes[name];
  const files = sources().map(path => {
    const {size, mtimeMs} = statSync(path);
    return [path, size, mtimeMs];
  });
  return digestOf(JSON.stringify([edition, rest, files, process.version])).slice(0, 16);
};

/** Returns the path of the archive of an image (docker-archive), built if it is not there. */
export const imageArchive = (name: ImageName): string => {
  mkdirSync(cache, {recursive: true, mode: 0o700});
  const path = join(cache, `${name}-${keyOf(name)}.tar`);
  if (existsSync(path)) return path;
  const partial = `${path}.${process.pid}`;
  writeFileSync(partial, archiveOf(buildImage(name)));
  renameSync(partial, path);
  return path;
};
