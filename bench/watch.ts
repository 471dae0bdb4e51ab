import {spawn} from 'node:child_process';
import {setTimeout as wait} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {type Row, row} from './row.js';
import {caller, startPlane} from './programs.js';
import type {Watched, Watching} from './watchers.js';

const watchers = 1000;
const perSecond = 100;
const seconds = 10;

/** The delay of events to a thousand watchers of one resource, each with its own TLS connection, at a hundred writes per second. */
export const watchRows = async (): Promise<Row[]> => {
  const plane = await startPlane();
  const call = caller(plane);
  await call('POST', '/api/v1/namespaces', {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'watched'}});
  const path = '/api/v1/namespaces/watched/configmaps';
  const settings: Watching = {
    url: plane.url,
    ...plane.pki,
    path: `${path}?watch=1`,
    watchers,
    events: perSecond * seconds,
    timeoutMs: 60_000,
  };
  const child = spawn(process.execPath, [fileURLToPath(new URL('watchers.js', import.meta.url)), JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()));
  while (!output.includes('open')) await wait(50);
  const startedAt = performance.now();
  for (let index = 0; index < perSecond * seconds; index++) {
    const due = startedAt + (index * 1000) / perSecond;
    if (due > performance.now()) await wait(due - performance.now());
    void call('POST', path, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: `event-${index}`}, data: {at: String(Date.now())}});
  }
  await ended;
  await plane.stop();
  const {complete, p50Ms, p99Ms, mostMs} = JSON.parse(output.trim().split('\n').at(-1)!) as Watched;
  return [
    row('watch: p99 from write to watcher', p99Ms, 'ms', {
      note: `${watchers} watchers, ${perSecond} writes/s, median ${p50Ms} ms, most ${mostMs} ms, ${complete} watchers got every event; client on the same two cores`,
    }),
  ];
};
