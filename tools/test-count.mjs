// Checks that the scripts of `make test` declare the tests that the files declare when each is loaded for itself. Loads
// both with a replacement of ava that notes titles; no test runs.
import {spawnSync} from 'node:child_process';
import {readFileSync, rmSync, writeFileSync} from 'node:fs';
import {register} from 'node:module';
import {join, resolve} from 'node:path';
import process from 'node:process';
import {pathToFileURL} from 'node:url';
import {testFiles} from './test-files.mjs';
import {everythingTogether, folder} from './test-together.mjs';

/** What ava's function for tests, and its variants, become: one that notes the title. Hooks are no tests. */
const noting = `
const note = title => void globalThis.titles.push(typeof title === 'string' ? title : '');
const skip = Object.assign(title => note(title), {});
const hook = Object.assign(() => {}, {always: () => {}, skip: () => {}});
const hooks = {before: hook, after: hook, beforeEach: hook, afterEach: hook};
const declare = () => Object.assign(title => note(title), {skip, failing: Object.assign(title => note(title), {skip}), todo: note, only: note, ...hooks});
export default Object.assign(declare(), {serial: declare(), macro: (...args) => args[0], meta: {file: import.meta.url, snapshotDirectory: '.'}});
export const registerCompletionHandler = () => {};
`;

const hooks = `
const ava = 'data:text/javascript,' + encodeURIComponent(${JSON.stringify(noting)});
export const resolve = (name, context, next) => (name === 'ava' ? {url: ava, shortCircuit: true} : next(name, context));
`;

/** Loads files one after the other, and writes the titles that each declares: in a process of its own. */
const load = async (list, out) => {
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
  const found = [];
  for (const {file, place} of JSON.parse(readFileSync(list, 'utf8'))) {
    globalThis.titles = [];
    await import(pathToFileURL(resolve(file)).href);
    found.push(...globalThis.titles.map(title => `${place}${title}`));
  }
  writeFileSync(out, JSON.stringify(found));
  process.exit();
};

/** A title without temporary folders and hashes, which are others in each process. */
const withoutChance = title => title.replaceAll(/(?<=\/plat-[\w-]*-)\w{6}(?=\/)|\b[0-9a-f]{24,}\b/g, '*');

const titlesOf = files => {
  const [list, out] = [`${folder}/list.json`, `${folder}/titles.json`];
  writeFileSync(list, JSON.stringify(files));
  const {status, stderr} = spawnSync(process.execPath, [process.argv[1], list, out], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(readFileSync(out, 'utf8')).map(withoutChance).sort();
};

const placeOf = file =>
  `${file
    .replace(/\.test\.js$/, '')
    .split('/')
    .join(' › ')} › `;

/** Returns the titles of one list that the other lacks, as often as it lacks them. */
const lacking = (titles, others) => {
  const left = new Map();
  for (const title of others) left.set(title, (left.get(title) ?? 0) + 1);
  return titles.filter(title => {
    const count = left.get(title) ?? 0;
    left.set(title, count - 1);
    return count <= 0;
  });
};

const compare = async () => {
  rmSync(folder, {recursive: true, force: true});
  const {computing, waiting} = await everythingTogether();
  const filesOf = isChosen => [...computing, ...waiting].filter(isChosen).map(({file}) => file);
  const under = file => ({file, place: placeOf(file.replace(/^dist\/(together|test)\//, ''))});
  // Bundles of different builds hold the same modules, of which a process can have one.
  const scripts = filesOf(({isScript}) => isScript);
  const bundled = filesOf(({file, isScript}) => !isScript && file.startsWith(folder));
  const named = filesOf(({file}) => !file.startsWith(folder));
  const titles = [...titlesOf(scripts.map(file => ({file, place: ''}))), ...titlesOf(bundled.map(under)), ...titlesOf(named.map(under))];
  const alone = titlesOf(testFiles().map(file => under(join('dist/test', file))));
  rmSync(folder, {recursive: true, force: true});
  for (const title of lacking(alone, titles)) console.log(`only separately: ${title}`);
  for (const title of lacking(titles, alone)) console.log(`only together: ${title}`);
  console.log(
    `${titles.length} tests are declared by ${scripts.length} scripts and ${bundled.length + named.length} files, and ${alone.length} by ${testFiles().length} files`,
  );
  process.exitCode = lacking(alone, titles).length + lacking(titles, alone).length > 0 ? 1 : 0;
};

if (process.argv.length > 2) await load(process.argv[2], process.argv[3]);
else await compare();
