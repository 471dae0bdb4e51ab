// Times of test files. ava loads this module into every process before the tests; where PLAT_TEST_TIMES names a file,
// each process appends a line with its wall time, and the CPU time of itself and of the programs it started, each
// script one with the CPU time of each test, and tools/test.mjs one with the wall time of each test. `node
// tools/test-times.mjs FILE` prints tables of it, and `--write` writes which test files take long to
// test/long-tests.json.
import {appendFileSync, existsSync, readFileSync, writeFileSync} from 'node:fs';
import {relative} from 'node:path';
import process from 'node:process';
import {fileURLToPath} from 'node:url';

/** The length of a tick of /proc/PID/stat, in seconds. */
const tick = 0.01;

/** From how many seconds on a file takes long. */
const long = 1.2;

/** Returns the CPU seconds of this process, and of those it started and waited for. */
const cpuSeconds = () => {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const [user, system, childUser, childSystem] = fields.slice(11, 15).map(ticks => Number(ticks) * tick);
  return {own: user + system, started: childUser + childSystem};
};

const rowsOf = path =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line));

const lengthOf = ({began, ended}) => (ended - began) / 1000;

/** Prints the processes of a run in the order of their cost. */
const print = rows => {
  const start = Math.min(...rows.map(({began}) => began));
  const columns = (...cells) => console.log(cells.map((cell, i) => (i < 5 ? String(cell).padStart(8) : cell)).join(' '));
  columns('at', 'wall', 'own', 'started', 'idle', 'file');
  for (const row of rows.toSorted((one, other) => lengthOf(other) - lengthOf(one))) {
    const {began, own, started, file} = row;
    const idle = Math.max(0, lengthOf(row) - own - started);
    columns(...[(began - start) / 1000, lengthOf(row), own, started, idle].map(seconds => seconds.toFixed(1)), file);
  }
  const sum = key => rows.reduce((total, row) => total + row[key], 0);
  const [wall, own, started] = [(Math.max(...rows.map(({ended}) => ended)) - start) / 1000, sum('own'), sum('started')].map(Math.round);
  console.log(`${rows.length} processes, ${wall} s, CPU ${own + started} s, of these ${started} s in programs that tests started`);
};

/** How many test files of scripts are printed. */
const most = 60;

/** Prints the test files of scripts in the order of their cost. */
const printFiles = rows => {
  const files = new Map();
  for (const {title, cpu} of rows) {
    const [seconds, tests] = files.get(fileOf(title)) ?? [0, 0];
    files.set(fileOf(title), [seconds + cpu, tests + 1]);
  }
  console.log('\n     CPU    tests file of a script');
  for (const [file, [seconds, tests]] of [...files].sort(([, [one]], [, [other]]) => other - one).slice(0, most))
    console.log(seconds.toFixed(1).padStart(8), String(tests).padStart(8), file);
};

/** Returns the test file of a title. */
const fileOf = title => {
  const parts = title.split(' › ');
  for (let length = parts.length - 1; length > 0; length--) {
    const file = `${parts.slice(0, length).join('/')}.test.ts`;
    if (existsSync(`test/${file}`)) return file;
  }
  return undefined;
};

const sumsOf = (tests, key) => {
  const sums = new Map();
  for (const {title, [key]: value} of tests) {
    if (!value) continue;
    const file = fileOf(title);
    sums.set(file, (sums.get(file) ?? 0) + value);
  }
  return sums;
};

/**
 * Writes the files that take long: separate ones by their processes, others by their tests. Of short tests ava says no
 * wall time, so that a file takes at least its CPU time.
 */
const write = (processes, tests) => {
  const seconds = sumsOf(tests, 'seconds');
  for (const [file, cpu] of sumsOf(tests, 'cpu')) seconds.set(file, Math.max(cpu, seconds.get(file) ?? 0));
  for (const row of processes) {
    const file = row.file.replace(/^dist\/(test|together)\//, '').replace(/\.js$/, '.ts');
    if (existsSync(`test/${file}`)) seconds.set(file, lengthOf(row));
  }
  const found = [...seconds].filter(([file, each]) => file && each >= long).map(([file, each]) => [file, Number(each.toFixed(1))]);
  writeFileSync('test/long-tests.json', `${JSON.stringify(Object.fromEntries(found.sort()), undefined, 2)}\n`);
};

const out = process.env['PLAT_TEST_TIMES'];

const measure = async (title, run) => {
  const before = process.cpuUsage();
  try {
    return await run();
  } finally {
    const {user, system} = process.cpuUsage(before);
    appendFileSync(out, `${JSON.stringify({title, cpu: (user + system) / 1e6})}\n`);
  }
};

/**
 * Returns the arguments of a test, whose body notes its CPU time where times are taken: a script's tests run one by
 * one.
 */
export const measured = (title, [body, ...rest]) =>
  out && typeof body === 'function' ? [(t, ...args) => measure(title, () => body(t, ...args)), ...rest] : [body, ...rest];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = rowsOf(process.argv[2]);
  const [processes, tests] = [rows.filter(({file}) => file), rows.filter(({title}) => title)];
  if (process.argv[3] === '--write') write(processes, tests);
  else {
    print(processes);
    printFiles(tests.filter(({cpu}) => cpu));
  }
} else if (out) {
  const began = Date.now() - process.uptime() * 1000;
  const {default: test} = await import('ava');
  const file = relative(process.cwd(), fileURLToPath(test.meta.file));
  process.on('exit', () => appendFileSync(out, `${JSON.stringify({file, began, ended: Date.now(), ...cpuSeconds()})}\n`));
}
