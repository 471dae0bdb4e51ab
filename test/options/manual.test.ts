import {spawnSync} from 'node:child_process';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {flagTables} from '#src/cli/commands.js';
import {manualPages} from '#src/options/programs/manual.js';

const tables = await flagTables();
const pages = manualPages(tables);

test('man/ has the pages that the flag tables make (make docs)', t => {
  t.deepEqual(readdirSync('man').sort(), pages.map(({file}) => file).sort());
  for (const {file, text} of pages) t.is(readFileSync(join('man', file), 'utf8'), text, file);
});

test('the package installs every manual page', t => {
  const {man, files} = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly man: readonly string[];
    readonly files: readonly string[];
  };

  t.deepEqual(
    man,
    pages.map(({file}) => `./man/${file}`),
  );
  t.true(files.includes('man'));
});

const hasGroff = spawnSync('groff', ['--version']).status === 0;
if (!hasGroff) console.log('skipped: groff is not installed');

/** Renders a page without hyphenation, in lines of no end, as plain text. */
const rendered = (text: string) => {
  const {stdout, stderr} = spawnSync('groff', ['-man', '-Tascii', '-P-cbou', '-rHY=0', '-rLL=20000n', '-ww'], {
    input: text.replaceAll(/\\\[u[0-9A-F]+\]/g, '?'),
    encoding: 'utf8',
  });
  return {stdout, stderr};
};

(hasGroff ? test : test.skip)('groff renders every page without a warning, with every flag and its help', t => {
  for (const {file, text} of pages) {
    const {stdout, stderr} = rendered(text);
    t.is(stderr, '', file);
    const table = tables.find(({program}) => `${program.replaceAll(' ', '-')}.1` === file);
    const words = stdout.replaceAll(/\s+/g, ' ');
    for (const [flag, {help}] of table?.sections.flatMap(({rows}) => Object.entries(rows)) ?? []) {
      t.regex(words, new RegExp(` --${flag}\\b`), file);
      t.true(words.includes(help.replaceAll(/[^\x20-\x7e]/gu, '?').replaceAll(/\s+/g, ' ')), `${file} --${flag}: ${help}`);
    }
  }
});
