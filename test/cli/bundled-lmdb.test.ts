import {execFileSync, spawnSync} from 'node:child_process';
import {mkdirSync, symlinkSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {aDirectory} from './programs.js';

/** A script that opens a store with the bundled lmdb, and prints what it has read. */
const bundle = (directory: string): string => {
  const outfile = join(directory, 'store.cjs');
  const contents = `
    const {open} = require('lmdb');
    if (typeof open === 'string') console.log(open);
    else {
      const store = open({path: ${JSON.stringify(join(directory, 'store'))}, encoding: 'binary'});
      store.putSync('key', Buffer.from('value'));
      console.log(String(store.get('key')));
      store.close();
    }`;
  const build = `
    import {build} from 'esbuild';
    import {bundledLmdb} from './tools/bundled-lmdb.mjs';
    const stdin = {contents: ${JSON.stringify(contents)}, resolveDir: process.cwd()};
    await build({stdin, outfile: ${JSON.stringify(outfile)}, bundle: true, platform: 'node', format: 'cjs', plugins: [bundledLmdb]});`;
  execFileSync(process.execPath, ['--input-type=module', '-e', build]);
  return outfile;
};

const outputOf = (script: string): string => {
  const {stdout, stderr} = spawnSync(process.execPath, [script], {encoding: 'utf8'});
  return stdout + stderr;
};

test('the bundled lmdb takes the native library of the installed one, also of one that is a link', t => {
  const directory = aDirectory();
  const script = bundle(directory);
  mkdirSync(join(directory, 'node_modules'));
  symlinkSync(join(process.cwd(), 'node_modules/lmdb'), join(directory, 'node_modules/lmdb'));

  t.is(outputOf(script), 'value\n');
});

test('an installed lmdb of another version than the bundled one is used as a whole', t => {
  const directory = aDirectory();
  const script = bundle(directory);
  mkdirSync(join(directory, 'node_modules/lmdb'), {recursive: true});
  writeFileSync(join(directory, 'node_modules/lmdb/package.json'), '{"version": "99.0.0", "main": "other.cjs"}');
  writeFileSync(join(directory, 'node_modules/lmdb/other.cjs'), "exports.open = 'another lmdb';");

  t.is(outputOf(script), 'another lmdb\n');
});
