// Runs the compiled tests with ava. The last line is a summary: `N passed, N failed`, and the number of skipped tests, if any.
// Arguments are passed to ava; test files may be given by their source path (test/pki/chain.test.ts).
import {stripVTControlCharacters} from 'node:util';
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {folder, putTogether} from './test-together.mjs';

const args = process.argv
  .slice(2)
  .map(arg => (/^(\.\/)?test\/.*\.ts(:|$)/.test(arg) ? arg.replace(/^(\.\/)?/, 'dist/').replace(/\.ts(?=:|$)/, '.js') : arg));

/** Whether the bundled programs are from the same build as the tests. Then the tests run the bundles, as users do. */
const isBundled = () => {
  const [bundle, compiled] = ['bin/plat', 'dist/src/cli/plat.js'];
  return existsSync(bundle) && existsSync(compiled) && statSync(bundle).mtimeMs >= statSync(compiled).mtimeMs;
};

// Without arguments test files are combined into scripts; named files run separately.
const isEverything = args.length === 0;
rmSync(folder, {recursive: true, force: true});
/** The temporary folder of all tests, removed at the end. */
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

/** Parses ava's output: one line per test, and a summary, which contains the number of passed tests only if none failed. */
const read = line => {
  const plain = stripVTControlCharacters(line).trim();
  if (/^[✔√] /.test(plain)) counts.passed++;
  const [, count, what] =
    /^(\d+) (?:tests? (failed|skipped)|uncaught exceptions?|unhandled rejections?|tests? remained pending.*|test files? .*)$/.exec(plain) ??
    [];
  if (count) counts[what ?? 'failed'] += Number(count);
  if (/^(skipped: |PLAT_ORACLE is unset)/.test(plain)) reasons.add(plain.replace(/^skipped: /, ''));
};

// oxlint-disable-next-line no-control-regex
const notText = /[\0-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f]/g;

/** Returns the line for the terminal: with the test's path in the repository, and without control characters. */
const withPath = line => (isEverything ? line.replace(/\b(?:together › \d+|test) › /, '') : line).replaceAll(notText, '\uFFFD');

let rest = '';
child.stdout.setEncoding('utf8').on('data', text => {
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    console.log(withPath(line));
    read(line);
  }
});

child.on('close', code => {
  if (rest) console.log(withPath(rest));
  read(rest);
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  if (reasons.size > 0) console.log(`\nskipped because:\n${[...reasons].map(reason => `  ${reason}\n`).join('')}`);
  const {passed, failed, skipped} = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
});
