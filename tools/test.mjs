// Runs the compiled tests with ava and ends with one line that says how it went: `N passed, N failed`, and how many were skipped, if any.
// Arguments go to ava; files may be named as they stand in the repository (test/pki/chain.test.ts).
import {stripVTControlCharacters} from 'node:util';
import {spawn} from 'node:child_process';
import {existsSync, statSync} from 'node:fs';

const args = process.argv.slice(2).map(arg => (/^(\.\/)?test\/.*\.ts(:|$)/.test(arg) ? arg.replace(/^(\.\/)?/, 'dist/').replace(/\.ts(?=:|$)/, '.js') : arg));

/** Whether the bundled programs are of the same build as the tests: then these run what users run. */
const isBundled = () => {
  const [bundle, compiled] = ['bin/plat', 'dist/src/cli/plat.js'];
  return existsSync(bundle) && existsSync(compiled) && statSync(bundle).mtimeMs >= statSync(compiled).mtimeMs;
};

const child = spawn(process.execPath, ['node_modules/ava/entrypoints/cli.mjs', ...args], {
  stdio: ['inherit', 'pipe', 'inherit'],
  env: {...process.env, ...(isBundled() ? {PLAT_TEST_BUNDLES: '1'} : {})},
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

let rest = '';
child.stdout.setEncoding('utf8').on('data', text => {
  process.stdout.write(text);
  const lines = (rest + text).split('\n');
  rest = lines.pop();
  lines.forEach(read);
});

child.on('close', code => {
  read(rest);
  if (code !== 0 && counts.failed === 0) counts.failed = 1;
  if (reasons.size > 0) console.log(`\nskipped because:\n${[...reasons].map(reason => `  ${reason}\n`).join('')}`);
  const {passed, failed, skipped} = counts;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  process.exitCode = failed > 0 ? 1 : 0;
});
