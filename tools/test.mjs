// Runs the compiled tests with ava and ends with one line that says how it went: `N passed, N failed`, and how many were skipped, if any.
// Arguments go to ava; files may be named as they stand in the repository (test/pki/chain.test.ts).
import {stripVTControlCharacters} from 'node:util';
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {folder, putTogether} from './test-together.mjs';

const args = process.argv.slice(2).map(arg => (/^(\.\/)?test\/.*\.ts(:|$)/.test(arg) ? arg.replace(/^(\.\/)?/, 'dist/').replace(/\.ts(?=:|$)/, '.js') : arg));

/** Whether the bundled programs are of the same build as the tests: then these run what users run. */
const isBundled = () => {
  const [bundle, compiled] = ['bin/plat', 'dist/src/cli/plat.js'];
  return existsSync(bundle) && existsSync(compiled) && statSync(bundle).mtimeMs >= statSync(compiled).mtimeMs;
};

// All of them run together as far as they can; where some are named, these run as they are.
const isEverything = args.length === 0;
rmSync(folder, {recursive: true, force: true});
/** Where tests make their files: one folder, so that nothing stays behind. */
const scratch = mkdtempSync(join(tmpdir(), 'plat-tests-'));
process.on('exit', () => {
  for (const each of [folder, scratch]) rmSync(each, {recursive: true, force: true});
});
const run = isEverything ? await putTogether() : args;

const child = spawn(process.execPath, ['node_modules/ava/entrypoints/cli.mjs', ...run], {
  stdio: ['inherit', 'pipe', 'inherit'],
  env: {...process.env, TMPDIR: scratch, ...(isBundled() ? {PLAT_TEST_BUNDLES: '1'} : {})},
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));

const counts = {passed: 0, failed: 0, skipped: 0};
const reasons = new Set();

/** Reads what ava says: a line a test, and a summary that tells failures and what else went wrong, but what passed only where nothing failed. */
const read = line => {
  const plain = stripVTControlCharacters(line).trim();
  if (/^[✔√] /.test(plain)) counts.passed++;
  const [, count, what] = /^(\d+) (?:tests? (failed|skipped)|uncaught exceptions?|unhandled rejections?|tests? remained pending.*|test files? .*)$/.exec(plain) ?? [];
  if (count) counts[what ?? 'failed'] += Number(count);
  if (/^(skipped: |PLAT_ORACLE is unset)/.test(plain)) reasons.add(plain.replace(/^skipped: /, ''));
};

// oxlint-disable-next-line no-control-regex
const notText = /[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]/g;

/** The line as people and other programs read it: a test by its place in the repository, and nothing that is no text. */
const told = line => (isEverything ? line.replace(/\b(?:together › \d+|test) › /, '') : line).replaceAll(notText, '\uFFFD');

let rest = '';
child.stdout.setEncoding('utf8').on('data', text => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    console.log(told(line));
    read(line);
  }
});

child.on('close', code => {
  if (rest) console.log(told(rest));
  read(rest);
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  if (reasons.size > 0) console.log(`\nskipped because:\n${[...reasons].map(reason => `  ${reason}\n`).join('')}`);
  const {passed, failed, skipped} = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
});
