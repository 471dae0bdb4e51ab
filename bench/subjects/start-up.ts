import {setTimeout as wait} from 'node:timers/promises';
import {median} from '#bench/load/each.js';
import {startOriginal} from '#bench/load/original.js';
import {type Row, row} from '#bench/run/row.js';
import type {Subject} from '#bench/run/subject.js';
import {caller, scratch, start, startPlane, type Running} from '#bench/load/programs.js';

/** Fetches what kubectl fetches first: discovery in both forms, and the OpenAPI documents. */
const readEverything = async (running: Running): Promise<void> => {
  const call = caller(running);
  for (const path of ['/api', '/apis', '/openapi/v2', '/openapi/v3']) await call('GET', path);
  const {paths} = JSON.parse((await call('GET', '/openapi/v3')).text) as {paths: Record<string, {serverRelativeURL: string}>};
  for (const {serverRelativeURL} of Object.values(paths)) await call('GET', serverRelativeURL);
};

const starts = 3;

/** Starts a plane several times in new directories, and again in the last. Returns the medians in ms. */
const readyMs = async (
  startIn: (directory?: string) => Promise<Running | undefined>,
): Promise<{empty: number; again: number} | undefined> => {
  const [empty, again]: [number[], number[]] = [[], []];
  let directory = '';
  for (let time = 0; time < 2 * starts; time++) {
    const isAgain = time >= starts;
    const plane = await startIn(isAgain ? directory : undefined);
    if (!plane) return undefined;
    (isAgain ? again : empty).push(plane.readyMs);
    ({directory} = plane);
    await plane.stop();
  }
  return {empty: median(empty), again: median(again)};
};

async function* readyRows(startIn: (directory?: string) => Promise<Running | undefined>): AsyncGenerator<Row> {
  const ready = await readyMs(startIn);
  if (!ready) return;
  const note = `all controllers synced; median of ${starts}`;
  yield row('whole plane ready, empty directory', ready.empty, 'ms', {key: 'ready', note});
  yield row('whole plane ready, started again', ready.again, 'ms', {key: 'ready-again', note});
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
    yield* readyRows(startPlane);
    for await (const each of readyRows(startOriginal)) yield {...each, server: 'original'};
    if (run.wants('start-up')) yield* programRows();
  },
};
