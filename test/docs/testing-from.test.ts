import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';
import test from 'ava';
import {parse} from 'yaml';
import {blocksOf, steps} from '#test/docs/console.js';
import {frameworks, runtimes} from '#test/frameworks/runners.js';
import {languages, pageOf, projectOf} from '#test/languages/languages.js';

const names = [...languages.map(({name}) => name), 'javascript'];
const textOf = (name: string): string => readFileSync(pageOf(name), 'utf8');

/** The files that a text links to, from the root of the repository. */
const linksOf = (page: string, text: string): readonly string[] =>
  [...text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => join(dirname(page), target));

/** The blocks of code of a page, each with the files that are linked before it, the last one first. */
const codeOf = (name: string): readonly {readonly language: string; readonly code: string; readonly before: readonly string[]}[] => {
  const text = textOf(name);
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(({index, 1: language = '', 2: code = ''}) => ({
    language,
    code,
    before: linksOf(pageOf(name), text.slice(0, index)).toReversed(),
  }));
};

const isRecipe = (code: string): boolean => code.startsWith('steps:\n');

test('each example in a language has a page, which the index names, and each page an example', t => {
  const folders = readdirSync('examples/testing-from').filter(name => statSync(join('examples/testing-from', name)).isDirectory());
  t.deepEqual(folders.toSorted(), languages.map(({name}) => name).toSorted());
  t.deepEqual(readdirSync('docs/testing-from').toSorted(), names.map(name => `${name}.md`).toSorted());
  const index = readFileSync('docs/README.md', 'utf8');
  for (const name of names) t.true(index.includes(`](testing-from/${name}.md)`), name);
});

for (const name of names) {
  test(`docs/testing-from/${name}.md names files that exist`, t => {
    t.deepEqual(
      linksOf(pageOf(name), textOf(name)).filter(file => !existsSync(file)),
      [],
    );
  });

  test(`the code in docs/testing-from/${name}.md is that of the file which is named before it`, t => {
    const code = codeOf(name).filter(({language, code}) => language !== 'console' && !isRecipe(code));
    t.true(code.length >= 2);
    for (const {code: text, before} of code) {
      const parts = text.trimEnd().split(/\n{2,}/);
      const file = readFileSync(
        before.find(each => each.startsWith('examples/'))!,
        'utf8',
      );
      t.deepEqual(
        parts.filter(part => !file.includes(part)),
        [],
        before[0],
      );
    }
  });

  test(`the recipe for continuous integration in docs/testing-from/${name}.md runs commands of the page`, t => {
    const recipes = codeOf(name).filter(({code}) => isRecipe(code));
    t.is(recipes.length, 1);
    const {steps: recipe} = parse(recipes[0]!.code, {strict: true}) as {readonly steps: readonly {readonly run?: string}[]};
    const shown = steps(blocksOf(pageOf(name))).map(({command}) => command);
    const setUp = ['npm ci --ignore-scripts', 'echo "$PWD/node_modules/.bin" >> "$GITHUB_PATH"', 'npm test'];
    const runs = recipe.flatMap(({run}) => run ?? []);
    t.deepEqual(
      runs.filter(run => !setUp.includes(run) && !shown.includes(run)),
      [],
    );
    if (name !== 'javascript') t.true(runs.some(run => shown.includes(run)));
  });
}

for (const {name, versions} of languages)
  test(`versions of packages for ${name} stand in ${versions} alone`, t => {
    t.regex(readFileSync(join(projectOf(name), versions), 'utf8'), /\d\.\d/);
    t.deepEqual(textOf(name).match(/\bv?\d+\.\d+\.\d+\b/g) ?? [], []);
  });

test('docs/testing-from/javascript.md shows the commands with which `make frameworks` runs the example', t => {
  const page = textOf('javascript');
  for (const {name, test: file, command} of [...frameworks, ...runtimes]) {
    t.true(page.includes(`| \`${command}\` |`), name);
    t.true(page.includes(`\npassed: ${name}\n`), name);
    t.true(page.includes(`](../../examples/labels/${file})`), name);
  }
});
