// Runs the compiled tests with ava. The last line is a summary: `N passed, N failed`, and the number of skipped tests,
// if any. Arguments are passed to ava; test files may be given by their source path (test/pki/chain.test.ts). `--quick`
// runs the tests that are soon done.
import {stripVTControlCharacters} from 'node:util';
import {spawn, spawnSync} from 'node:child_process';
import {appendFileSync, existsSync, mkdtempSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {withSourcePlaces} from './test-places.mjs';
import {quickFiles} from './test-quick.mjs';
import {everythingTogether, folder, quickTogether} from './test-together.mjs';

const args = process.argv
  .slice(2)
  .map(arg => (/^(\.\/)?test\/.*\.ts(:|$)/.test(arg) ? arg.replace(/^(\.\/)?/, 'dist/').replace(/\.ts(?=:|$)/, '.js') : arg));

/** Whether the bundled programs are from the same build as the tests. Then the tests run the bundles, as users do. */
const isBundled = () => {
  const [bundle, compiled] = ['bin/plat', 'dist/src/cli/plat.js'];
  return existsSync(bundle) && existsSync(compiled) && statSync(bundle).mtimeMs >= statSync(compiled).mtimeMs;
};

/** The temporary folder of all tests, removed at the end. */
const scratch = mkdtempSync(join(tmpdir(), 'plat-tests-'));
const isQuick = args[0] === '--quick';
/** Whether the tests run from bundles. */
const isTogether = isQuick || args.length === 0;
/**
 * What is removed before and after: named files, which run as they were compiled, leave the scripts to a run that uses
 * them.
 */
const made = isTogether ? [folder, scratch] : [scratch];
const clear = each => rmSync(each, {recursive: true, force: true});
made.filter(each => each !== scratch).forEach(clear);
process.on('exit', () => made.forEach(clear));

const counts = {passed: 0, failed: 0, skipped: 0};
const reasons = new Set();

/**
 * Parses ava's output: one line per test, and a summary, which contains the number of passed tests only if none failed.
 */
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

/** Returns the line for the terminal: with paths in the repository, and without control characters. */
const withPath = line => {
  const text = line.replace(/\b(?:(?:(?:script|programs)-\d+|together|test) › )+/, '').replaceAll(notText, '\uFFFD');
  return isTogether ? withSourcePlaces(text) : text;
};

const times = process.env['PLAT_TEST_TIMES'];

/** Notes how long a test took, if ava says so: tools/test-times.mjs. */
const time = line => {
  const [, title, minutes = 0, seconds = 0, milliseconds = 0] =
    /^\s*[✔✘] (.*) \((?:(\d+)m ?)?(?:([\d.]+)s)?(?:(\d+)ms)?\)$/.exec(stripVTControlCharacters(line)) ?? [];
  if (times && title) appendFileSync(times, `${JSON.stringify({title, seconds: 60 * minutes + Number(seconds) + milliseconds / 1000})}\n`);
};

const tell = line => {
  const text = withPath(line);
  console.log(text);
  time(text);
  read(line);
};

/**
 * For programs in Go that tests start. kubectl collected its garbage several times, on as many threads as there are
 * cores, for a fifth of its processor time.
 */
const goSettings = {GOGC: '400', GOMAXPROCS: '1'};

/**
 * For tests, of whose code each part runs a few times: V8 optimizes it with less effort, and collects garbage without
 * helpers, which compete with other tests for the cores.
 */
const wantedSettings = [
  '--single-threaded-gc',
  '--max-inlined-bytecode-size=150',
  '--max-inlined-bytecode-size-cumulative=300',
  '--no-turbo-load-elimination',
  '--no-turbo-loop-peeling',
  '--no-turbo-splitting',
  '--turbo-force-mid-tier-regalloc',
];

/** Those that this release of Node.js has: it does not start with others. */
const engineSettings = () => {
  const {stdout} = spawnSync(process.execPath, ['--v8-options'], {encoding: 'utf8'});
  const known = new Set(stdout.match(/--[a-z-]+/g));
  return wantedSettings.filter(setting => known.has(setting.replace('--no-', '--').split('=', 1)[0])).join(' ');
};

const children = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => children.forEach(child => child.kill(signal)));

/** Runs ava on files, which begin in their order, and resolves with its exit code. */
const ava = (files, options = []) =>
  new Promise(resolve => {
    const child = spawn(process.execPath, ['node_modules/ava/entrypoints/cli.mjs', ...options, ...files], {
      stdio: ['inherit', 'pipe', 'inherit'],
      env: {
        ...goSettings,
        ...process.env,
        TMPDIR: scratch,
        PLAT_HOME: join(scratch, 'home'),
        PLAT_TEST_ORDER: files.join('\n'),
        ...(isBundled() ? {PLAT_TEST_BUNDLES: '1'} : {}),
        ...(isTogether ? {PLAT_TEST_TOGETHER: '1'} : {}),
      },
    });
    children.add(child);
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) tell(line);
    });
    child.on('close', code => {
      children.delete(child);
      if (rest) tell(rest);
      resolve(code);
    });
  });

const runBundled = (files, options = []) => ava(files, [...options, `--node-arguments=${engineSettings()}`]);

/**
 * Returns the order in which files begin of which one that computes runs beside two others, until none of a sort is
 * left.
 */
const orderOf = (computing, waiting) => {
  const [scripts, others] = [[...computing], [...waiting]];
  const lanes = [
    {files: scripts, free: 0},
    {files: others, free: 0},
    {files: others, free: 0},
  ];
  const order = [];
  while (scripts.length + others.length > 0) {
    const lane = lanes.reduce((first, each) => (each.free < first.free ? each : first));
    const {file, seconds} = (lane.files.length > 0 ? lane.files : lane.files === others ? scripts : others).shift();
    order.push(file);
    lane.free += seconds;
  }
  return order;
};

/**
 * Runs one file that computes at a time, beside files that wait for programs half of their time, until none of a sort
 * is left. So both cores of a machine are busy, but not with four files, which compete for its caches: they took a
 * tenth more processor time.
 */
const runEverything = async () => {
  const {computing, waiting} = await everythingTogether();
  return runBundled(orderOf(computing, waiting), ['--concurrency=3']);
};

const runQuick = async () => {
  const {files, notes} = quickFiles();
  const code = await runBundled(await quickTogether(files));
  reasons.clear(); // Of the tests that are chosen, all run.
  for (const note of notes) reasons.add(note);
  return code;
};

const code = isQuick ? await runQuick() : args.length > 0 ? await ava(args) : await runEverything();

if (code !== 0 && counts.failed === 0) counts.failed = 1;
if (reasons.size > 0) console.log(`\nskipped because:\n${[...reasons].map(reason => `  ${reason}\n`).join('')}`);
const {passed, failed, skipped} = counts;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;
