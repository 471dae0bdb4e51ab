import {spawnSync} from 'node:child_process';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {controllers} from '#controllers/index.js';
import {controllersReference} from '#controllers/reference.js';
import {naming} from '#src/api/naming.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {commands, flagTables, programs, type Command} from '#src/cli/commands.js';
import {controllerNames} from '#src/options/controller-names.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import type {FlagRows} from '#src/options/flag.js';
import {configurationOf, defineController, flagsOf, serviceAccountOf, settled, type Controller} from '#src/runtime/controller.js';
import {root, sources, target} from './sources.js';

/** A controller's folder: its name less the ending that all have. */
const folderOf = (name: string): string => name.replace(/-controller$/, '');

const known = new Map(controllerNames.map(row => [row.name, row]));
const flags: FlagRows = controllerManagerFlags.rows;
const words = naming('plat');
const policy = bootstrapPolicy(words, () => true);
const reference = readFileSync(join(root, 'docs/controllers.md'), 'utf8');

const folders = readdirSync(join(root, 'controllers'), {withFileTypes: true})
  .filter(entry => entry.isDirectory() && entry.name !== 'shared')
  .map(entry => entry.name);

/** Says what a controller lacks: where its name, role, flags, sentence, folder or test should be. */
const lacking = async (controller: Controller): Promise<string[]> => {
  const {name, doc} = controller;
  const serviceAccount = serviceAccountOf(controller, words);
  const folder = folderOf(name);
  const declaration = `controllers/${folder}/controller.ts`;
  const lacks: string[] = [];
  const need = (isThere: boolean, what: string) => void (isThere || lacks.push(what));
  const isDeclared =
    existsSync(join(root, declaration)) &&
    ((await import(`#controllers/${folder}/controller.js`)) as {default: Controller}).default === controller;
  need(isDeclared, `${declaration}: its declaration, as the default export`);
  need(controllers.includes(controller), 'controllers/index.ts: its line');
  need(known.has(name), `src/options/controller-names.ts: the name ${name}`);
  need(/^[A-Z][^.]+\.$/.test(doc), `${declaration}: doc, a sentence that says what it does`);
  for (const flag of flagsOf(controller)) {
    need(flags[flag] !== undefined, `src/options/controller-manager: the flag --${flag}`);
    need(flags[flag]?.implementation !== 'pending', `src/options/controller-manager: --${flag} without \`pending\``);
  }
  if (serviceAccount) {
    const role = `system:controller:${serviceAccount}`;
    const binding = [...policy.clusterRoleBindings, ...policy.roleBindings].find(({roleRef}) => roleRef.name === role);
    const subjects = binding?.subjects ?? [];
    need(
      [...policy.clusterRoles, ...policy.roles].some(({metadata}) => metadata?.name === role) &&
        subjects.length === 1 &&
        subjects.every(
          ({kind, namespace, name: bound}) => `${kind} ${namespace} ${bound}` === `ServiceAccount plat-system ${serviceAccount}`,
        ),
      `src/apiserver/authorization/bootstrap: the role ${role}`,
    );
  }
  need(existsSync(join(root, 'test/controllers', `${folder}.test.ts`)), `test/controllers/${folder}.test.ts`);
  need(reference.includes(`\n| \`${name}\``), `docs/controllers.md: its row, by \`make docs\``);
  return lacks;
};

test('every folder of a controller is in the list, and the list is in order', t => {
  const listed = controllers.map(({name}) => folderOf(name));

  t.deepEqual(listed, [...folders].sort());
});

for (const controller of controllers) {
  test(`${controller.name} has a declaration, a name, a role, flags, documentation and a test`, async t => {
    t.deepEqual(await lacking(controller), []);
  });
}

test('what a controller lacks is named, with the file where it belongs', async t => {
  const controller = defineController({
    doc: 'counts',
    name: 'season-controller',
    serviceAccount: 'season-controller',
    configuration: {SeasonController: {ConcurrentSeasonSyncs: 'concurrent-season-syncs'}},
    create: () => () => Promise.resolve(settled),
  });

  t.deepEqual(await lacking(controller), [
    'controllers/season/controller.ts: its declaration, as the default export',
    'controllers/index.ts: its line',
    'src/options/controller-names.ts: the name season-controller',
    'controllers/season/controller.ts: doc, a sentence that says what it does',
    'src/options/controller-manager: the flag --concurrent-season-syncs',
    'src/apiserver/authorization/bootstrap: the role system:controller:season-controller',
    'test/controllers/season.test.ts',
    'docs/controllers.md: its row, by `make docs`',
  ]);
});

test('each section of the configuration is declared by one controller', t => {
  const sections = controllers.flatMap(controller => Object.keys(configurationOf(controller, words)));

  t.deepEqual(sections, [...new Set(sections)]);
});

const flagsPage = readFileSync(join(root, 'docs/flags.md'), 'utf8');
const {bin, man} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly bin: Readonly<Record<string, string>>;
  readonly man: readonly string[];
};
const commandTests = sources('test').filter(({path}) => path.endsWith('.test.ts') && path !== 'test/house.test.ts');

/** Says what a command of `plat` lacks: where its flags, manual page, section of docs/flags.md or test should be. */
const lackingOf = async (name: string, {about, flags}: Command): Promise<string[]> => {
  const {program} = await flags();
  const isProgram = Object.hasOwn(programs, name); // Its tests start the program.
  const page = `man/${program.replaceAll(' ', '-')}.1`;
  const lacks: string[] = [];
  const need = (isThere: boolean, what: string) => void (isThere || lacks.push(what));
  need(isProgram || program === `plat ${name}`, `src/options/programs: a table of the program "plat ${name}"`);
  need(/^[a-z][^.]+$/.test(about), `src/cli/commands.ts: about, a line of the help without a full stop`);
  need(man.includes(`./${page}`), `package.json: ./${page} in "man"`);
  need(existsSync(join(root, page)), `${page}, by \`make docs\``);
  need(name === 'version' || flagsPage.includes(`\n## ${program}\n`), 'docs/flags.md: its section, by `make docs`');
  const call = new RegExp(`'plat', ?\\[(?:\\.\\.\\.\\w+, ?)?'${name}'|\\bplat ${name}\\b`);
  need(
    isProgram || commandTests.some(({path, code}) => path.startsWith(`test/cli/${name}.`) || call.test(code)),
    `test/cli/${name}.test.ts, or another test that runs "plat ${name}"`,
  );
  return lacks;
};

for (const [name, command] of Object.entries(commands)) {
  test(`plat ${name} has flags, a manual page, documentation and a test`, async t => {
    t.deepEqual(await lackingOf(name, command), []);
  });
}

test('what a command lacks is named, with the file where it belongs', async t => {
  const {flags, run} = commands['up']!;

  t.deepEqual(await lackingOf('tide', {about: 'Counts.', flags: async () => ({...(await flags()), program: 'plat tides'}), run}), [
    'src/options/programs: a table of the program "plat tide"',
    'src/cli/commands.ts: about, a line of the help without a full stop',
    'package.json: ./man/plat-tides.1 in "man"',
    'man/plat-tides.1, by `make docs`',
    'docs/flags.md: its section, by `make docs`',
    'test/cli/tide.test.ts, or another test that runs "plat tide"',
  ]);
});

test('every table of flags is in the table of commands, and every program has an entry point and a file of its own', async t => {
  const listed = new Set((await flagTables()).map(({program}) => program));
  const declared = sources('src/options/programs').flatMap(({code}) =>
    [...code.matchAll(/\bprogram: '([^']+)'/g)].map(([, program]) => program!),
  );

  t.deepEqual(
    declared.filter(program => !listed.has(program)),
    [],
    'src/cli/commands.ts has no row for them',
  );
  t.deepEqual(Object.keys(bin).sort(), ['plat', ...Object.keys(programs)].sort());
  for (const name of Object.keys(bin)) t.true(existsSync(join(root, `src/cli/${name}.ts`)), name);
});

/**
 * Packages that want to run a program when they are installed, which they can do without: each has what it makes among
 * its optional packages.
 */
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

test('the page about controllers lists what the code declares', t => {
  t.is(reference, controllersReference(), 'run `make docs`');
});

/** Programs, workers, builds and the public modules of the package are not imported by the rest. */
const isEntryPoint = (path: string): boolean =>
  /^src\/cli\/plat[\w-]*\.ts$|-worker\.ts$|\.d\.ts$|^src\/operator\/(?:index|kinds)\.ts$|^src\/testing\/index\.ts$/.test(path);

test('what a production file exports is used by another file, and not by tests alone', t => {
  const used = sources('src', 'controllers', 'informers', 'bench', 'examples', 'tools');
  const production = used.filter(({path}) => /^(?:src|controllers|informers)\//.test(path));
  const tools = readdirSync(join(root, 'tools'), {recursive: true, encoding: 'utf8'})
    .filter(name => /\.[cm]?[jt]s$/.test(name))
    .map(name => readFileSync(join(root, 'tools', name), 'utf8'));
  const texts = [...used.map(({code}) => code), ...tools];
  const filesWith = new Map<string, number>();
  for (const text of texts)
    for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);
  const unused = production.flatMap(({path, code}) =>
    [...code.matchAll(/^export (?:abstract )?(?:const|function\*?|class|interface|type) (\w+)/gm)]
      .map(([, name = '']) => name)
      .filter(name => filesWith.get(name) === 1 && code.split(new RegExp(`\\b${name}\\b`)).length <= 2)
      .map(name => `${path}: ${name}`),
  );
  const imported = new Set(used.flatMap(({path, imports}) => imports.map(({specifier}) => target(path, specifier))));

  t.deepEqual(unused, []);
  t.deepEqual(
    production
      .map(({path}) => path)
      .filter(path => !imported.has(path) && !isEntryPoint(path) && !tools.some(text => text.includes(path.replace(/\.ts$/, '.js')))),
    [],
  );
});

/** Tables of data, which are long because there is much of it. */
const tables = ['test/apiserver/conformance-proofs.ts', 'test/schema/yaml-original.ts'];

test('a file of tests has one subject, and no more than 400 lines', t => {
  const files = readdirSync(join(root, 'test'), {withFileTypes: true, recursive: true})
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry => join(entry.parentPath, entry.name));
  const tooLong = files
    .map(path => ({path: path.slice(root.length).replace(/^\//, ''), lines: readFileSync(path, 'utf8').split('\n').length - 1}))
    .filter(({path, lines}) => lines > 400 && !tables.includes(path));

  t.true(files.length > 300);
  t.deepEqual(tooLong, []);
});

/** Returns what is wrong with the subject of a commit. */
const subjectProblem = (subject: string): string | undefined => {
  if (subject.length > 72) return `has ${subject.length} characters, more than 72`;
  if (!/^[A-Z]/.test(subject) || subject.endsWith('.')) return 'does not begin with a capital letter, or ends with a full stop';
  return /^(?:Add|Fix|Chang|Updat|Remov|Us|Mak|Mov|Renam|Test|Writ|Implement|Support)(?:s|es|ed|ing)\b/.test(subject)
    ? 'is not in the imperative'
    : undefined;
};

test('for each file of tests, `make test-quick` finds out whether it starts programs', async t => {
  const {startsPrograms, testFiles} = (await import(join(root, 'tools/test-files.mjs'))) as {
    readonly startsPrograms: (file: string) => boolean;
    readonly testFiles: () => readonly string[];
  };

  const starting = testFiles().filter(file => startsPrograms(join('dist/test', file)));

  t.true(starting.includes('console/page.test.js'), 'starts a browser');
  t.true(starting.includes('cli/plat.test.js'));
  t.false(starting.includes('codegen/type-operators.test.js'), 'imports only in texts');
});

/** Commits before this one were not checked. */
const firstChecked = 'b0650b07';
const history = spawnSync('git', ['log', '--no-merges', '--format=%s', `${firstChecked}..HEAD`], {cwd: root, encoding: 'utf8'});
if (history.status !== 0) console.log('skipped: the history of commits is not here');

(history.status === 0 ? test : test.skip)('subjects of commits are in the imperative and have at most 72 characters', t => {
  const problems = history.stdout
    .split('\n')
    .filter(Boolean)
    .flatMap(subject => {
      const problem = subjectProblem(subject);
      return problem === undefined ? [] : [`"${subject}" ${problem}`];
    });

  t.deepEqual(problems, []);
  t.is(subjectProblem('Added a flag'), 'is not in the imperative');
  t.is(subjectProblem('Return 404 for a kind that is not served.'), 'does not begin with a capital letter, or ends with a full stop');
  t.is(subjectProblem('x'.repeat(73)), 'has 73 characters, more than 72');
});
