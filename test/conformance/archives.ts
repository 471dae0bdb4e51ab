// Archives of images under the names that the suite uses, from programs that were built for them (docs/conformance.md):
// `node dist/test/conformance/archives.js PROGRAMS ARCHIVES`. They have the programs and files that the tests use, not
// the originals' content.

import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {delimiter, join} from 'node:path';
import {archiveOf, imageOf, recipes} from '#test/node/images/index.js';
import {busybox, programs} from '#test/node/images/recipes.js';
import type {TarEntry} from '#test/node/images/tar.js';

interface SuiteImage {
  readonly name: string;
  readonly references: readonly string[];
  /** The programs that it is made from, of the folder. */
  readonly from: readonly string[];
  readonly entries: (folder: string) => readonly TarEntry[];
  readonly config: Readonly<Record<string, unknown>>;
}

const registry = 'registry.k8s.io';
const ofSuite = (...names: readonly string[]): readonly string[] => names.map(name => `${registry}/e2e-test-images/${name}`);

/** Those of some programs of this machine that are installed, by their names in images. */
const installed = (names: Readonly<Record<string, string>>): Readonly<Record<string, string>> => {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/bin', '/sbin'];
  return Object.fromEntries(
    Object.entries(names).flatMap(([name, program]) => {
      const folder = folders.find(place => existsSync(join(place, program)));
      return folder === undefined ? [] : [[name, join(folder, program)]];
    }),
  );
};

/** Busybox with programs of this machine in the place of its own, where they are installed. */
const busyboxWith = (wanted: Readonly<Record<string, string>>): readonly TarEntry[] => {
  const found = installed(wanted);
  const names = new Set(Object.keys(found).map(name => `bin/${name}`));
  return [...busybox().filter(({path}) => !names.has(path)), ...programs(found)];
};

/** What scripts of the tests call. The shell of Debian's busybox would run its own programs instead. */
const tools = (): readonly TarEntry[] =>
  busyboxWith({bash: 'bash', sh: 'bash', curl: 'curl', dig: 'dig', getent: 'getent', ip: 'ip', nc: 'nc.openbsd', ss: 'ss'});

/**
 * The shell of busybox 1.35 drops variables with names such as data-1, which tests print, and others read what that of
 * busybox says of errors. So bash takes its place where there is such a variable.
 */
const chosenShell = `#!/bin/bash
shell=/bin/busybox
while IFS= read -r -d '' each; do
  [[ \${each%%=*} =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || shell=/bin/bash
done < /proc/$$/environ
exec -a "$0" "$shell" "$@"
`;

const shell = (): readonly TarEntry[] => {
  const found = installed({bash: 'bash'});
  if (Object.keys(found).length === 0) return busybox();
  return [...busybox().filter(({path}) => path !== 'bin/sh'), ...programs(found), {path: 'bin/sh', content: chosenShell}];
};

const file = (folder: string, name: string): Buffer => readFileSync(join(folder, name));

const agnhost = (folder: string): readonly TarEntry[] => [
  ...tools(),
  {path: 'uploads', isFolder: true},
  {path: 'agnhost', content: file(folder, 'agnhost')},
  {path: 'agnhost-2', link: 'agnhost'},
  ...['localhost.crt', 'localhost.key', 'data.json', 'nautilus.jpg']
    .filter(name => existsSync(join(folder, name)))
    .map((path): TarEntry => ({path, mode: 0o644, content: file(folder, path)})),
];

const environment = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];

const images: readonly SuiteImage[] = [
  {name: 'pause', references: [`${registry}/pause:3.10.1`], from: [], entries: busybox, config: recipes.pause.config},
  {
    name: 'busybox',
    references: ofSuite('busybox:1.36.1-1', 'busybox:1.37.0-1'),
    from: [],
    entries: shell,
    config: {Env: environment, Cmd: ['sh']},
  },
  {
    name: 'agnhost',
    references: ofSuite('agnhost:2.55', 'agnhost:2.59'),
    from: ['agnhost'],
    entries: agnhost,
    config: {Env: environment, Entrypoint: ['/agnhost'], Cmd: ['pause']},
  },
  {
    name: 'nautilus',
    references: ofSuite('nautilus:1.7'),
    from: ['agnhost', 'data.json', 'nautilus.jpg'],
    entries: agnhost,
    config: {Env: environment, Entrypoint: ['/agnhost'], Cmd: ['test-webserver']},
  },
  {name: 'jessie-dnsutils', references: ofSuite('jessie-dnsutils:1.7'), from: [], entries: tools, config: {Env: environment, Cmd: ['sh']}},
  {
    name: 'nonewprivs',
    references: ofSuite('nonewprivs:1.3'),
    from: ['nonewprivs'],
    entries: folder => [
      ...busybox(),
      ...['usr', 'usr/local', 'usr/local/bin'].map((path): TarEntry => ({path, isFolder: true})),
      {path: 'usr/local/bin/nnp', mode: 0o6755, content: file(folder, 'nonewprivs')},
    ],
    config: {Env: environment, Cmd: ['nnp']},
  },
  {
    name: 'sample-apiserver',
    references: ofSuite('sample-apiserver:1.29.2'),
    from: ['sample-apiserver'],
    entries: folder => [...busybox(), {path: 'sample-apiserver', content: file(folder, 'sample-apiserver')}],
    config: {Env: environment, Entrypoint: ['/sample-apiserver']},
  },
  {
    name: 'etcd',
    references: [`${registry}/etcd:3.6.6-0`],
    from: ['etcd'],
    entries: folder => [
      ...busybox(),
      ...['usr', 'usr/local', 'usr/local/bin'].map((path): TarEntry => ({path, isFolder: true})),
      ...programs({etcd: join(folder, 'etcd')}),
      {path: 'usr/local/bin/etcd', link: '/bin/etcd'},
    ],
    config: {Env: environment, Cmd: ['/usr/local/bin/etcd']},
  },
];

const [from, to] = process.argv.slice(2);
if (from === undefined || to === undefined) {
  console.error('usage: node dist/test/conformance/archives.js PROGRAMS ARCHIVES (docs/conformance.md)');
  process.exit(2);
}
mkdirSync(to, {recursive: true});
for (const {name, references, from: needed, entries, config} of images) {
  const absent = needed.filter(program => !existsSync(join(from, program)));
  if (absent.length > 0) {
    console.log(`${name}: left out, there is no ${absent.join(', ')} in ${from}`);
    continue;
  }
  const image = imageOf({reference: references[0]!, entries: () => entries(from), config});
  writeFileSync(join(to, `${name}.tar`), archiveOf(image, references));
  console.log(`${name}: ${references.join(', ')}`);
}
