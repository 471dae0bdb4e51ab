import {mkdirSync, writeFileSync} from 'node:fs';
import {SourceMap, type SourceMapPayload} from 'node:module';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {runInThisContext} from 'node:vm';
import test from 'ava';
import {build} from 'esbuild';
import {aDirectory} from './programs.js';

interface Bundle {
  readonly text: string;
  readonly map: SourceMapPayload;
}

const {withOneKey} = (await import(pathToFileURL(resolve('tools/bundle/one-key.mjs')).href)) as {
  withOneKey: (text: string, map: SourceMapPayload) => Bundle;
};

/** Bundles modules that are loaded on demand into a script of one line. */
const bundled = async (): Promise<Bundle> => {
  const folder = aDirectory();
  mkdirSync(join(folder, 'with a space'));
  const module = (name: string) =>
    `export const ${name}First = 'first of ${name}';\nexport const ${name}Second = () => '${name} second';\n`;
  writeFileSync(join(folder, 'one.js'), module('one'));
  writeFileSync(join(folder, 'with a space/two.js'), `import '../one.js';\n${module('two')}`);
  writeFileSync(join(folder, 'three.cjs'), "exports.threeFirst = 'first of three';\nexports.threeSecond = () => 'three second';\n");
  writeFileSync(
    join(folder, 'main.js'),
    "export const load = async () => ({...(await import('./one.js')), ...(await import('./with a space/two.js')), ...require('./three.cjs')});\n",
  );
  const {outputFiles} = await build({
    entryPoints: [join(folder, 'main.js')],
    outfile: join(folder, 'out.cjs'),
    bundle: true,
    write: false,
    format: 'cjs',
    sourcemap: 'external',
    minifyWhitespace: true,
    supported: {'dynamic-import': false},
  });
  const [map, text] = outputFiles.map(file => file.text) as [string, string];
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
  const before = await bundled();
  const after = withOneKey(before.text, before.map);

  t.is(after.text.match(/__(?:esm|commonJS)\(\{run\(/g)?.length, 3);
  t.true(after.text.length < before.text.length);
  t.deepEqual(origins(after), origins(before));
  t.true(origins(after).length > 8);
  const module = {exports: {} as {load: () => Promise<{oneFirst: string; threeSecond: () => string; twoSecond: () => string}>}};
  (runInThisContext(`(function (module) {${after.text}\n})`) as (given: object) => void)(module);
  const loaded = await module.exports.load();
  t.deepEqual([loaded.oneFirst, loaded.twoSecond(), loaded.threeSecond()], ['first of one', 'two second', 'three second']);
});

test('a bundle whose modules are all loaded at once stays as it is', t => {
  const map = {version: 3, mappings: 'AAAA;AACA'} as unknown as SourceMapPayload;

  t.deepEqual(withOneKey('one();\ntwo();', map), {text: 'one();\ntwo();', map});
});
