import {setTimeout as wait} from 'node:timers/promises';
import {comparisonRow} from '#bench/comparison/scene.js';
import {startables, type Startable} from '#bench/load/contenders.js';
import {caller, scratch, start, startPlane, type Running} from '#bench/load/programs.js';
import {inTurns} from '#bench/run/rounds.js';
import {type Row, row} from '#bench/run/row.js';
import type {Subject} from '#bench/run/subject.js';

/** Fetches what kubectl fetches first: discovery in both forms, and the OpenAPI documents. */
const readEverything = async (running: Running): Promise<void> => {
  const call = caller(running);
  for (const path of ['/api', '/apis', '/openapi/v2', '/openapi/v3']) await call('GET', path);
  const {paths} = JSON.parse((await call('GET', '/openapi/v3')).text) as {paths: Record<string, {serverRelativeURL: string}>};
  for (const {serverRelativeURL} of Object.values(paths)) await call('GET', serverRelativeURL);
};

/** Starts a plane in a new directory, and again in the same. */
async function* readyRows({start: startIn}: Startable): AsyncGenerator<Row> {
  const note = 'until a new namespace has its service account';
  const first = await startIn();
  yield comparisonRow('ready', {value: first.readyMs, note});
  await first.stop();
  const again = await startIn(first.directory);
  yield comparisonRow('ready-again', {value: again.readyMs, note});
  await again.stop();
}

/** Start-up times of the API server alone, and the memory of idle programs. */
async function* programRows(): AsyncGenerator<Row> {
  const alone = await scratch();
  const args = ['--cert-dir', `${alone}/pki`, '--data-dir', `${alone}/store`, '--bind-address', '127.0.0.1', '--secure-port', '0'];
  const first = await start('plat-apiserver', args, alone);
  await first.stop();
  const again = await start('plat-apiserver', args, alone);
  yield row('plat-apiserver ready, empty store', first.readyMs, 'ms', {note: 'embedded store, certificate made'});
  yield row('plat-apiserver ready, started again', again.readyMs, 'ms');
  await again.stop();
  for (const [name, flags] of [
    ['plat up', []],
    ['plat up without controllers', ['--controller-manager-arg=--controllers=']],
  ] as const) {
    const plane = await startPlane(undefined, flags);
    await readEverything(plane);
    await wait(5000);
    yield row(`${name}, resident memory when idle`, plane.residentMb(), 'MB', {note: '5 s after one full discovery and OpenAPI read'});
    await plane.stop();
  }
}

/** Start-up times of the programs, and their memory when idle. */
export const startUp: Subject = {
  name: 'start-up',
  rows: ['ready', 'ready-again'],
  async *measure(run) {
    yield* inTurns(
      startables().map(each => ({...each, rows: () => readyRows(each)})),
      run,
    );
    if (run.wants('start-up')) yield* programRows();
  },
};
