// The compiled test files, and what they import.
import {readFileSync, readdirSync, statSync} from 'node:fs';
import {dirname, join} from 'node:path';

/** Returns the test files, by their paths in dist/test. */
export const testFiles = () =>
  readdirSync('dist/test', {recursive: true})
    .filter(file => file.endsWith('.test.js'))
    .sort();

const known = new Map();

/** Returns what a compiled file imports: paths of other compiled files, and the names of packages. */
export const importsOf = file => {
  if (!known.has(file)) {
    const code = statSync(file, {throwIfNoEntry: false})?.isFile() ? readFileSync(file, 'utf8') : '';
    const names = [...code.matchAll(/\b(?:from|import)\s*\(?\s*['"]([^'"\n]+)['"]/g)].map(([, name]) => name);
    known.set(
      file,
      names.map(name => (name.startsWith('#') ? join('dist', name.slice(1)) : name.startsWith('.') ? join(dirname(file), name) : name)),
    );
  }
  return known.get(file);
};

const isHelper = file => /^dist\/(test|bench)\//.test(file);
const starters = new Set(['node:child_process', 'node:worker_threads', 'esbuild', 'playwright-core']);

/** Returns the files that a file imports, itself included, at any distance; only those that `isFollowed`. */
export const reached = (file, isFollowed = name => name.startsWith('dist/')) => {
  const found = new Set([file]);
  for (const each of found) for (const name of importsOf(each)) if (isFollowed(name)) found.add(name);
  return found;
};

/** Whether a test file, or a helper of tests that it imports, starts programs or threads. */
export const startsPrograms = file => [...reached(file, isHelper)].some(each => importsOf(each).some(name => starters.has(name)));

/** The files that took longer than a second, and how long: what `node tools/test-times.mjs FILE --write` found. */
const longTests = JSON.parse(readFileSync('test/long-tests.json', 'utf8'));

/** Whether a test file, by its path in dist/test, takes long. */
export const isLong = file => file.replace(/\.js$/, '.ts') in longTests;

/** Returns about how many seconds a test file takes: a guess by its size for those that do not take long. */
export const secondsOf = file => longTests[file.replace(/\.js$/, '.ts')] ?? Math.min(2, statSync(join('dist/test', file)).size / 30_000);
