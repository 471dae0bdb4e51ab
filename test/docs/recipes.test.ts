import {execFile} from 'node:child_process';
import {cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {promisify} from 'node:util';
import test from 'ava';
import {aDirectory} from '#test/cli/programs.js';

const run = promisify(execFile);
const contents = 'test/docs/recipes/files';

/** Text that a recipe inserts into a file of the sources, before the first occurrence of `before`. */
interface Edit {
  readonly file: string;
  readonly before: string;
  readonly insert: string;
}

/** A small example of a recipe in CONTRIBUTING.md. */
interface Recipe {
  /** The heading of the recipe. */
  readonly title: string;
  /** The files that it adds; their content is in `files/`. */
  readonly files: readonly string[];
  readonly edits: readonly Edit[];
}

/**
 * One example for each recipe. They are built together: the controller reads the kind and two flags, the plugin checks
 * the kind.
 */
const recipes = JSON.parse(readFileSync('test/docs/recipes/recipes.json', 'utf8')) as readonly Recipe[];

const apply = (folder: string, {file, before, insert}: Edit): void => {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  const at = text.indexOf(before);
  if (at < 0) throw new Error(`${file} has no ${before}: the recipe's example is out of date`);
  writeFileSync(path, text.slice(0, at) + insert + text.slice(at));
};

const add = (folder: string, file: string): void => {
  mkdirSync(dirname(join(folder, file)), {recursive: true});
  writeFileSync(join(folder, file), readFileSync(`${contents}/${file}.txt`, 'utf8'));
};

/** A copy of the sources in a directory of its own, compiled with the examples of all recipes. */
const withExamples = async (folder: string): Promise<void> => {
  for (const each of ['src', 'controllers', 'informers', 'tools', 'package.json']) cpSync(each, join(folder, each), {recursive: true});
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const configuration = JSON.parse(readFileSync('tsconfig.json', 'utf8')) as object;
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({...configuration, include: ['src', 'controllers', 'informers']}));
  for (const {files, edits} of recipes) {
    for (const edit of edits) apply(folder, edit);
    for (const file of files) add(folder, file);
  }
  add(folder, 'src/walk.ts');
  await run(process.execPath, ['tools/schema.mjs'], {cwd: folder});
  // One checker, and garbage collected late, take half as much of the processor, which other tests use meanwhile.
  const compile = ['node_modules/typescript/bin/tsc', '-p', '.', '--sourceMap', 'false', '--checkers', '1'];
  await run(process.execPath, compile, {cwd: folder, env: {...process.env, GOGC: '400'}}).catch(({stdout}: {stdout: string}) =>
    Promise.reject(new Error(stdout)),
  );
};

test('every recipe of the contributing guide has an example, and names the files that the example changes', t => {
  const sections = readFileSync('CONTRIBUTING.md', 'utf8')
    .split(/^## /m)
    .filter(section => section.startsWith('Add '));
  t.deepEqual(
    sections.map(section => section.slice(0, section.indexOf('\n'))),
    recipes.map(({title}) => title),
  );
  for (const [index, {title, edits}] of recipes.entries()) {
    for (const {file} of edits) {
      const folder = dirname(file);
      t.true(
        [file, `${folder}/GROUP.ts`, `${folder}/*.ts`, `${folder}/TOPIC.ts`, file.slice(file.lastIndexOf('/') + 1)].some(name =>
          sections[index]!.includes(name),
        ),
        `${title}: ${file}`,
      );
    }
  }
});

test('every path in the guides exists', t => {
  for (const guide of [
    'README.md',
    'CONTRIBUTING.md',
    'docs/architecture.md',
    'docs/security.md',
    'docs/simulation.md',
    'docs/differences.md',
    'docs/embedding.md',
  ]) {
    for (const [, path = ''] of readFileSync(guide, 'utf8').matchAll(
      /`((?:src|test|controllers|informers|tools|bench|docs|examples|manifests)\/[\w./-]+)`/g,
    )) {
      if (!/[A-Z]{4}/.test(path)) t.true(existsSync(path), `${guide}: ${path}`);
    }
  }
});

test('a kind takes five files, and a controller with two flags five', t => {
  const counts = new Map(recipes.map(({title, files, edits}) => [title, new Set([...files, ...edits.map(({file}) => file)]).size]));
  t.is(counts.get('Add a kind'), 5);
  t.is(counts.get('Add a controller')! + counts.get('Add a flag')!, 5);
  t.true(Math.max(...counts.values()) <= 5);
});

test('the examples of all recipes compile and work together', async t => {
  const folder = aDirectory();
  await withExamples(folder);
  const {stdout} = await run(process.execPath, ['dist/src/walk.js'], {cwd: folder});
  const printed = await Promise.all(
    [['season', '--month=7'], ['--help'], ['completion', 'bash']].map(args =>
      run(process.execPath, ['dist/src/cli/plat.js', ...args], {cwd: folder}),
    ),
  );

  t.is(printed[0]!.stdout, 'summer\n');
  t.regex(printed[1]!.stdout, /^ {2}season {7}print the season of a month$/m);
  t.regex(printed[2]!.stdout, /'plat season'\)\n\s+flags='[^']*--month/);

  t.deepEqual(JSON.parse(stdout), {
    defaulted: 90,
    invalid: 'Season.scheduling.k8s.io "none" is invalid: days: Invalid value: -1: must be greater than zero',
    refused: 'seasons.scheduling.k8s.io "long" is forbidden: a season is no longer than a year',
    label: 'hot',
    winter: 'accepted',
    skier:
      '0/1 nodes are available: 1 node(s) were in winter. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    syncs: '# HELP season_controller_syncs_total [BETA] Number of seasons that were looked at, by their weather.',
    pressures: ['DiskPressure'],
    summer: `configmaps "summer" is forbidden: ValidatingAdmissionPolicy 'seasons' with binding 'seasons' denied request: failed expression: seasonOf(7) == 'summer' && seasonOf(1) == object.data.season`,
  });
});
