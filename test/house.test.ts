import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {controllers} from '#controllers/index.js';
import {controllersReference} from '#controllers/reference.js';
import {naming} from '#src/api/naming.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {controllerNames} from '#src/options/controller-names.js';
import {controllerManagerFlags} from '#src/options/controller-manager.js';
import type {FlagRows} from '#src/options/flag.js';
import type {Controller} from '#src/runtime/controller.js';
import {root} from './sources.js';

/** A controller's folder: its name less the ending that all have. */
const folderOf = (name: string): string => name.replace(/-controller$/, '');

const known = new Map(controllerNames.map(row => [row.name, row]));
const flags: FlagRows = controllerManagerFlags.rows;
const policy = bootstrapPolicy(naming('plat'), () => true);

const folders = readdirSync(join(root, 'controllers'), {withFileTypes: true})
  .filter(entry => entry.isDirectory() && entry.name !== 'shared')
  .map(entry => entry.name);

test('every folder of a controller is in the list, and the list is in order', t => {
  const listed = controllers.map(({name}) => folderOf(name));

  t.deepEqual(listed, [...folders].sort());
});

for (const controller of controllers) {
  const {name, doc, serviceAccount} = controller;
  const folder = folderOf(name);

  test(`${name} is declared in the folder of its name, which is one of the documents' names`, async t => {
    const declared = (await import(`#controllers/${folder}/controller.js`)) as {default: Controller};
    t.is(declared.default, controller);
    t.true(known.has(name));
  });

  test(`${name} says what it does in a sentence`, t => {
    t.regex(doc, /^[A-Z][^.]+\.$/);
  });

  test(`${name} names flags that exist and that have an effect`, t => {
    const named = controller.flags ?? [];
    t.deepEqual(
      named.filter(flag => !flags[flag]),
      [],
    );
    t.deepEqual(
      named.filter(flag => flags[flag]?.implementation === 'pending'),
      [],
    );
  });

  if (serviceAccount)
    test(`${name} acts under a role that is bound to its account`, t => {
      const role = `system:controller:${serviceAccount}`;
      const binding = policy.clusterRoleBindings.find(({roleRef}) => roleRef.name === role);
      t.true(
        policy.clusterRoles.some(({metadata}) => metadata?.name === role),
        `no cluster role ${role}`,
      );
      t.deepEqual(
        binding?.subjects?.map(subject => [subject.kind, subject.namespace, subject.name]),
        [['ServiceAccount', 'plat-system', serviceAccount]],
      );
    });

  test(`${name} has a test of its own`, t => {
    t.true(existsSync(join(root, 'test/controllers', `${folder}.test.ts`)), `test/controllers/${folder}.test.ts is missing`);
  });
}

/** Packages that want to run a program when they are installed, which they can do without: each has what it makes among its optional packages. */
const withInstallScripts = ['lmdb', 'msgpackr-extract'];

test('no package that users install with this one needs to run a program for it', t => {
  const {packages} = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, {dev?: boolean; hasInstallScript?: boolean; optionalDependencies?: object}>;
  };
  const found = Object.entries(packages).filter(([, {dev, hasInstallScript}]) => hasInstallScript && !dev);

  t.deepEqual(
    found.map(([path]) => path.replace(/^.*node_modules\//, '')),
    withInstallScripts,
  );
  for (const [path, {optionalDependencies}] of found)
    t.true(
      Object.keys(optionalDependencies ?? {}).some(name => name.includes('linux-x64')),
      path,
    );
  t.regex(readFileSync(join(root, '.npmrc'), 'utf8'), /^ignore-scripts=true$/m);
});

test('the page about controllers says what the list says', t => {
  t.is(readFileSync(join(root, 'docs/controllers.md'), 'utf8'), controllersReference(), 'run `make docs`');
});

test('what a file exports is used in another file', t => {
  const texts = new Map<string, string>();
  for (const folder of ['src', 'controllers', 'informers', 'test', 'bench', 'examples', 'tools']) {
    for (const entry of readdirSync(join(root, folder), {withFileTypes: true, recursive: true})) {
      const path = join(entry.parentPath, entry.name);
      if (entry.isFile() && /\.(ts|mjs|cjs)$/.test(entry.name)) texts.set(path, readFileSync(path, 'utf8'));
    }
  }
  const filesWith = new Map<string, number>();
  for (const text of texts.values())
    for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
  const production = [...texts].filter(([path]) => /^(?:src|controllers|informers)\//.test(path.slice(root.length)));
  const unused = production.flatMap(([path, text]) =>
    [...text.matchAll(/^export (?:abstract )?(?:const|function\*?|class|interface|type) (\w+)/gm)]
      .map(([, name = '']) => name)
      .filter(name => filesWith.get(name) === 1 && text.split(new RegExp(`\\b${name}\\b`)).length <= 2)
      .map(name => `${path.slice(root.length)}: ${name}`),
  );

  t.deepEqual(unused, []);
});
