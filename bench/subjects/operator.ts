// What an operator costs that follows many objects, and beside it one with controller-runtime where Go is there.

import {execFile, spawnSync} from 'node:child_process';
import {randomUUID} from 'node:crypto';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {configMap, configMapsIn} from '#bench/comparison/scene.js';
import {ApiClient} from '#bench/load/api-client.js';
import {each, setting} from '#bench/load/each.js';
import {scratch, startPlane, type Running} from '#bench/load/programs.js';
import type {Costs} from '#bench/operator/cost.js';
import {type Contender, inTurns} from '#bench/run/rounds.js';
import {type Row, row} from '#bench/run/row.js';
import type {Run, Subject} from '#bench/run/subject.js';

const execute = promisify(execFile);
const namespace = 'followed';
const ours = fileURLToPath(new URL('../operator/program.js', import.meta.url));

/** A program with its first arguments. */
type Command = readonly [program: string, ...args: string[]];

/** Builds the program with controller-runtime; undefined where Go is not on the PATH. */
const builtWithGo = async (run: Run): Promise<Command | undefined> => {
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  run.step('building the Go program, which takes minutes the first time');
  const program = join(await scratch(), 'operator');
  await execute('go', ['build', '-trimpath', '-o', program, '.'], {cwd: 'bench/operator/go'});
  return [program];
};

const fill = async (plane: Running, count: number): Promise<void> => {
  using client = new ApiClient(plane);
  await client.call('POST', '/api/v1/namespaces', {body: {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}}});
  await each(count, index => client.call('POST', configMapsIn(namespace), {body: configMap(namespace, `item-${index}`)}));
};

const note = 'processor time of the operator, its start included';

/** Without it: Node.js reads that file at each start, which takes as long as to start otherwise, for nobody here. */
const {NODE_EXTRA_CA_CERTS: _, ...env} = process.env;

/** Measures an operator that reads each object once, and one that writes each object once as well. */
async function* costRows([program, ...first]: Command, kubeconfig: string, count: number, run: Run): AsyncGenerator<Row> {
  const costsOf = async (mark = ''): Promise<Costs> =>
    JSON.parse((await execute(program, [...first, kubeconfig, namespace, `${count}`, mark], {env})).stdout) as Costs;
  const objects = count.toLocaleString('en-US');
  if (['operator-synced', 'operator-reconciled', 'operator-memory'].some(key => run.wants(key))) {
    const {synced, done} = await costsOf();
    yield row(`operator, ${objects} objects synced`, synced.cpuMs, 'ms', {key: 'operator-synced', note});
    yield row(`operator, ${objects} objects reconciled`, done.cpuMs, 'ms', {key: 'operator-reconciled', note});
    yield row('operator, most memory by then', done.peakMb, 'MB', {key: 'operator-memory'});
  }
  if (!run.wants('operator-patched')) return;
  const {done} = await costsOf(randomUUID());
  yield row(`operator, ${objects} objects patched`, done.cpuMs, 'ms', {
    key: 'operator-patched',
    note: `${note}; most memory ${Math.round(done.peakMb)} MB`,
  });
}

/** What an operator costs: ours, and beside it one with controller-runtime. */
export const operator: Subject = {
  name: 'operator',
  rows: ['operator-synced', 'operator-reconciled', 'operator-memory', 'operator-patched'],
  async *measure(run: Run) {
    const count = setting('BENCH_COUNT', 10_000);
    const goProgram = await builtWithGo(run);
    run.step('writing objects');
    const plane = await startPlane(undefined, ['--controller-manager-arg=--controllers=']);
    await fill(plane, count);
    const kubeconfig = join(plane.directory, 'kubeconfig');
    const rowsOf = (command: Command) => (turn: Run) => costRows(command, kubeconfig, count, turn);
    const contenders: Contender[] = [{rows: rowsOf([process.execPath, ours])}];
    if (goProgram) contenders.push({server: 'controller-runtime', rows: rowsOf(goProgram)});
    yield* inTurns(contenders, run);
    await plane.stop();
  },
};
