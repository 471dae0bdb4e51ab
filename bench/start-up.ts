import {setTimeout as wait} from 'node:timers/promises';
import {type Row, row} from './row.js';
import {caller, scratch, start, startPlane, type Running} from './programs.js';

/** Fetches what kubectl fetches first: discovery in both forms, and the OpenAPI documents. */
const readEverything = async (running: Running): Promise<void> => {
  const call = caller(running);
  for (const path of ['/api', '/apis', '/openapi/v2', '/openapi/v3']) await call('GET', path);
  const {paths} = JSON.parse((await call('GET', '/openapi/v3')).text) as {paths: Record<string, {serverRelativeURL: string}>};
  for (const {serverRelativeURL} of Object.values(paths)) await call('GET', serverRelativeURL);
};

/** Start-up times of the programs, and their memory when idle. */
export const startUpRows = async (): Promise<Row[]> => {
  const rows: Row[] = [];
  const alone = await scratch();
  const args = ['--cert-dir', `${alone}/pki`, '--data-dir', `${alone}/store`, '--bind-address', '127.0.0.1', '--secure-port', '0'];
  const first = await start('plat-apiserver', args, alone);
  await first.stop();
  const again = await start('plat-apiserver', args, alone);
  rows.push(row('plat-apiserver ready, empty store', first.readyMs, 'ms', {note: 'embedded store, certificate made'}));
  rows.push(row('plat-apiserver ready, started again', again.readyMs, 'ms'));
  await again.stop();

  const plane = await startPlane();
  await plane.stop();
  const second = await startPlane(plane.directory);
  rows.push(row('plat up ready, empty directory', plane.readyMs, 'ms', {note: 'all controllers synced'}));
  rows.push(row('plat up ready, started again', second.readyMs, 'ms'));
  await readEverything(second);
  await wait(5000);
  rows.push(row('plat up, resident memory when idle', second.residentMb(), 'MB', {note: '5 s after one full discovery and OpenAPI read'}));
  await second.stop();

  const server = await startPlane(undefined, ['--controller-manager-arg=--controllers=']);
  await readEverything(server);
  await wait(5000);
  rows.push(
    row('API server, resident memory when idle', server.residentMb(), 'MB', {note: 'plat up without controllers, after the same reads'}),
  );
  await server.stop();
  return rows;
};
