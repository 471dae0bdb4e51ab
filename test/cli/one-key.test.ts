import {execFileSync} from 'node:child_process';
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {SourceMap, type SourceMapPayload} from 'node:module';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {runInThisContext} from 'node:vm';
import test from 'ava';
import {aDirectory} from './programs.js';

interface Bundle {
  readonly text: string;
  readonly map: SourceMapPayload;
}

const {withOneKey} = (await import(pathToFileURL(resolve('tools/bundle/one-key.mjs')).href)) as {
  withOneKey: (text: string, map: SourceMapPayload, use?: (run: unknown) => void) => Bundle;
};

interface Loads {
  load(): Promise<{readonly oneFirst: string; twoSecond(): string; threeSecond(): string}>;
  loadThree(): {threeSecond(): string};
}

/** Bundles modules that are loaded on demand into a script of one line. */
const bundled = (...more: readonly string[]): Bundle => {
  const folder = aDirectory();
  const [one, two, three] = ['one.js', 'with a space/two.js', 'three.cjs'].map(file => `./${file}`) as [string, string, string];
  const write = (file: string, ...lines: readonly string[]) => writeFileSync(join(folder, file), lines.join('\n'));
  const source = (name: string) => `export const ${name}First = 'first of ${name}';\nexport const ${name}Second = () => '${name} second';`;
  mkdirSync(join(folder, 'with a space'));
  write(one, source('one'));
  write(two, source('two'));
  write(three, "exports.threeFirst = 'first of three';", "exports.threeSecond = () => 'three second';");
  const loaded = [...[one, two].map(path => `...(await import(${JSON.stringify(path)}))`), `...require(${JSON.stringify(three)})`];
  write(
    'main.js',
    `export const load = async () => ({${loaded.join(', ')}});\nexport const loadThree = () => require(${JSON.stringify(three)});`,
  );
  const flags = ['--bundle', '--format=cjs', '--sourcemap=external', '--minify-whitespace', '--supported:dynamic-import=false'];
  execFileSync(resolve('node_modules/.bin/esbuild'), [
    join(folder, 'main.js'),
    `--outfile=${folder}/out.cjs`,
    '--log-level=error',
    ...flags,
    ...more,
  ]);
  const [text, map] = ['out.cjs', 'out.cjs.map'].map(file => readFileSync(join(folder, file), 'utf8')) as [string, string];
  return {text, map: JSON.parse(map) as SourceMapPayload};
};

/** Returns where the words of a bundle come from. */
const origins = ({text, map}: Bundle): readonly string[] => {
  const source = new SourceMap(map);
  return text.split('\n').flatMap((line, at) =>
    [...line.matchAll(/(?:one|two|three) ?(?:First|Second|second)|first of \w+/g)].map(({0: word, index}) => {
      const {originalSource, originalLine, originalColumn} = source.findEntry(at, index) as Record<string, string | number>;
      return `${word}: ${originalSource} ${originalLine} ${originalColumn}`;
    }),
  );
};

test('the modules of a bundle have one key, and its source map is right', async t => {
  const before = bundled();
  const after = withOneKey(before.text, before.map);

  t.is(after.text.match(/__(?:esm|commonJS)\(\{run\(/g)?.length, 3);
  t.true(after.text.length < before.text.length);
  t.deepEqual(origins(after), origins(before));
  t.true(origins(after).length > 8);
  const module = {exports: {} as Loads};
  (runInThisContext(`(function (module) {${after.text}\n})`) as (given: object) => void)(module);
  const loaded = await module.exports.load();
  t.deepEqual([loaded.oneFirst, loaded.twoSecond(), loaded.threeSecond()], ['first of one', 'two second', 'three second']);
});

test('modules that run when a bundle is used are compiled with it', async t => {
  const before = bundled('--banner:js=(function (module) {', '--footer:js=})');
  const module = {exports: {} as Loads};
  const after = withOneKey(before.text, before.map, run => {
    (run as (given: object) => void)(module);
    module.exports.loadThree();
  });

  t.is(after.text.match(/__esm\(\{run\(/g)?.length, 2);
  t.is(after.text.match(/__commonJS\(\{run:\(function\(/g)?.length, 1);
  t.deepEqual(origins(after), origins(before));
  const again = {exports: {} as Loads};
  (runInThisContext(after.text) as (given: object) => void)(again);
  t.deepEqual(again.exports.loadThree().threeSecond(), 'three second');
  t.is((await again.exports.load()).oneFirst, 'first of one');
});

test('a bundle whose modules are all loaded at once stays as it is', t => {
  const map = {version: 3, mappings: 'AAAA;AACA'} as unknown as SourceMapPayload;

  t.deepEqual(withOneKey('one();\ntwo();', map), {text: 'one();\ntwo();', map});
});
