// The images of tests, from programs of this machine: there is no registry to pull from.

import {execFileSync, spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync, realpathSync} from 'node:fs';
import {delimiter, dirname, join} from 'node:path';
import type {TarEntry} from './tar.js';

export type ImageName = 'pause' | 'busybox' | 'node' | 'plat';

export interface Recipe {
  readonly reference: string;
  /** The files of the host that it is made from. */
  readonly sources: () => readonly string[];
  readonly entries: () => readonly TarEntry[];
  readonly config: Readonly<Record<string, unknown>>;
}

const busyboxPath = (): string => {
  const folder = [...(process.env['PATH'] ?? '').split(delimiter), '/bin'].find(place => existsSync(join(place, 'busybox')));
  if (folder === undefined) throw new Error('busybox is not installed (Debian: apt-get install busybox-static)');
  return realpathSync(join(folder, 'busybox'));
};

const accounts: readonly TarEntry[] = [
  ...['etc', 'root', 'home', 'home/user'].map((path): TarEntry => ({path, isFolder: true})),
  {path: 'tmp', isFolder: true, mode: 0o1777},
  {path: 'etc/passwd', mode: 0o644, content: 'root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n'},
  {path: 'etc/group', mode: 0o644, content: 'root:x:0:\nuser:x:1000:\n'},
];

export const busybox = (): readonly TarEntry[] => {
  const path = busyboxPath();
  const applets = execFileSync(path, ['--list'], {encoding: 'utf8'}).split('\n').filter(Boolean);
  return [
    {path: 'bin', isFolder: true},
    {path: 'bin/busybox', content: readFileSync(path)},
    ...applets.filter(name => name !== 'busybox').map((name): TarEntry => ({path: `bin/${name}`, link: 'busybox'})),
    ...accounts,
  ];
};

/**
 * The libraries that a program loads, by their paths; none if it is linked statically, which `ldd` takes for a failure.
 */
const librariesOf = (program: string): readonly string[] => {
  const {stdout} = spawnSync('ldd', [program], {encoding: 'utf8'});
  return stdout.split('\n').flatMap(line => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
};

/** The files of programs of this machine, by their names in `bin`, with the libraries that they load. */
export const programs = (paths: Readonly<Record<string, string>>): readonly TarEntry[] => {
  const libraries = [...new Set(Object.values(paths).flatMap(librariesOf))];
  const folders = new Set<string>();
  for (const library of libraries)
    for (let folder = dirname(library); folder !== '/'; folder = dirname(folder)) folders.add(folder.slice(1));
  return [
    ...[...folders].sort().map((path): TarEntry => ({path, isFolder: true})),
    ...libraries.map((path): TarEntry => ({path: path.slice(1), content: readFileSync(path)})),
    ...Object.entries(paths).map(([name, path]): TarEntry => ({path: `bin/${name}`, content: readFileSync(path)})),
  ];
};

const node = (): readonly TarEntry[] => [...busybox(), ...programs({node: process.execPath})];

const pathOf = (program: string): string => {
  const folder = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'].find(place => existsSync(join(place, program)));
  if (folder === undefined) throw new Error(`${program} is not installed`);
  return realpathSync(join(folder, program));
};

/** The files of our programs, as they are built. */
const bundleFiles = (): readonly string[] =>
  ['bin', 'dist/bundle'].flatMap(folder =>
    readdirSync(folder)
      .filter(name => !name.endsWith('.map'))
      .map(name => join(folder, name)),
  );

/** Our programs with what the service proxy runs. */
const plat = (): readonly TarEntry[] => [
  ...node(),
  ...programs({nft: pathOf('nft'), conntrack: pathOf('conntrack')}),
  ...['usr', 'usr/bin', 'opt', 'opt/plat', 'opt/plat/bin', 'opt/plat/dist', 'opt/plat/dist/bundle'].map((path): TarEntry => ({
    path,
    isFolder: true,
  })),
  {path: 'usr/bin/env', link: '/bin/busybox'},
  {path: 'opt/plat/package.json', mode: 0o644, content: readFileSync('package.json')},
  ...bundleFiles().map((path): TarEntry => ({path: `opt/plat/${path}`, content: readFileSync(path)})),
];

const environment = ['PATH=/bin'];

export const recipes: Readonly<Record<ImageName, Recipe>> = {
  pause: {
    reference: 'plat.local/pause:1',
    sources: () => [busyboxPath()],
    entries: busybox,
    config: {Env: environment, Entrypoint: ['sh', '-c', "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"]},
  },
  busybox: {reference: 'plat.local/busybox:1', sources: () => [busyboxPath()], entries: busybox, config: {Env: environment, Cmd: ['sh']}},
  node: {
    reference: 'plat.local/node:1',
    sources: () => [busyboxPath(), process.execPath],
    entries: node,
    config: {Env: environment, Cmd: ['node']},
  },
  plat: {
    reference: 'plat.local/plat:1',
    sources: () => [busyboxPath(), process.execPath, pathOf('nft'), pathOf('conntrack'), ...bundleFiles()],
    entries: plat,
    config: {Env: ['PATH=/opt/plat/bin:/bin'], Cmd: ['plat', '--help']},
  },
};
