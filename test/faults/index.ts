import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {check, type Verdict} from './check/check.js';
import {recordsOf} from './history/records.js';
import {faults} from './rounds/faults.js';
import {runRound} from './rounds/round.js';
import {backends, canRun, type Backend} from './rounds/world.js';

// `make faults`: rounds of concurrent clients against servers that are killed, paused and cut off, whose histories are
// checked. docs/testing.md has the settings.
const {
  FAULTS_SEED = '1',
  FAULTS_MINUTES = '4',
  FAULTS_ROUNDS,
  FAULTS_SECONDS = '20',
  FAULTS_ONLY = '',
  FAULTS_CLIENTS = '12',
} = process.env;
const {FAULTS_WATCHERS = '6', FAULTS_KEYS = '10', FAULTS_KEEP} = process.env;

const print = ({problems, operations, unknown, lists, watchers, events, streams}: Verdict): void => {
  for (const problem of problems) console.log(`  ${problem}`);
  console.log(
    `${operations} operations (${unknown} without an answer), ${lists} lists, ${events} events to ${watchers} watchers in ${streams} streams: ${
      problems.length === 0 ? 'no problem' : `${problems.length} problems`
    }`,
  );
};

const checkFile = async (file: string): Promise<void> => {
  const verdict = await check(recordsOf(file));
  print(verdict);
  process.exitCode = verdict.problems.length > 0 ? 1 : 0;
};

/** The names in FAULTS_ONLY, of backends and of faults. */
const chosen = (): {readonly among: readonly Backend[]; readonly only: readonly string[] | undefined} => {
  const names = FAULTS_ONLY.split(',').filter(name => name !== '');
  const known = [...backends, ...faults.map(({name}) => name)] as readonly string[];
  const wrong = names.find(name => !known.includes(name));
  if (wrong !== undefined) throw new Error(`FAULTS_ONLY: ${wrong} is none of ${known.join(', ')}`);
  const among = backends.filter(name => names.includes(name));
  const only = names.filter(name => !(backends as readonly string[]).includes(name));
  const present = (among.length > 0 ? among : backends).filter(canRun);
  if (present.length === 0) throw new Error('etcd is not on the PATH');
  return {among: present, only: only.length > 0 ? only : undefined};
};

const counted = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([name, count]) => `${count} × ${name}`).join(', ') || 'no faults';

const runAll = async (): Promise<void> => {
  const {among, only} = chosen();
  const end = performance.now() + Number(FAULTS_MINUTES) * 60_000;
  const folder = FAULTS_KEEP ?? mkdtempSync(join(tmpdir(), 'plat-faults-'));
  const total = {rounds: 0, operations: 0, events: 0, failed: 0};
  for (let round = 0; FAULTS_ROUNDS ? round < Number(FAULTS_ROUNDS) : performance.now() < end; round++) {
    const seed = Number(FAULTS_SEED) + round;
    const backend = among[round % among.length]!;
    const file = join(folder, `${backend}-${seed}.jsonl`);
    console.log(`round ${round + 1}: ${backend}, seed ${seed}`);
    let ticks = 0;
    const result = await runRound({
      backend,
      seed,
      seconds: Number(FAULTS_SECONDS),
      clients: Number(FAULTS_CLIENTS),
      watchers: Number(FAULTS_WATCHERS),
      keys: Number(FAULTS_KEYS),
      only,
      file,
      progress: ({operations, events}, happened) => {
        if (++ticks % 5 === 0) console.error(`  ${ticks} s: ${operations} operations, ${events} events; ${counted(happened)}`);
      },
    });
    console.log(`  ${counted(result.faults)}`);
    for (const why of result.missing) console.log(`  some faults are left out: ${why}`);
    print(result);
    total.rounds++;
    total.operations += result.operations;
    total.events += result.events;
    if (result.problems.length === 0) {
      if (!FAULTS_KEEP) rmSync(file);
      continue;
    }
    total.failed++;
    for (const [index, log] of result.logs.entries()) {
      const path = join(folder, `${backend}-${seed}-server-${index}.log`);
      writeFileSync(path, log);
      console.log(`  log of server ${index}: ${path}`);
    }
    console.log(`  check the history again: node dist/test/faults/index.js check ${file}`);
    console.log(
      `  run the round again: make faults FAULTS_SEED=${seed} FAULTS_ROUNDS=1 FAULTS_ONLY=${[backend, ...(only ?? [])].join(',')}`,
    );
  }
  if (total.failed === 0 && !FAULTS_KEEP) rmSync(folder, {recursive: true, force: true});
  console.log(`${total.rounds} rounds, ${total.operations} operations, ${total.events} events, ${total.failed} rounds failed`);
  process.exitCode = total.failed > 0 ? 1 : 0;
};

if (existsSync('bin/plat-apiserver')) process.env['PLAT_TEST_BUNDLES'] = '1';
const [, , command, file] = process.argv;
if (command === 'check' && file) await checkFile(file);
else await runAll();
