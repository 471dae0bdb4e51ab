import https from 'node:https';
import {loadavg} from 'node:os';
import {setTimeout as wait} from 'node:timers/promises';
import {Child} from '#bench/load/child.js';
import {operations, adminTls, collection, type ManyLoad} from '#bench/load/many-load.js';
import type {ServerStatistics, ManyServer} from '#bench/load/many-server.js';
import {scratch} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

const {BENCH_OBJECTS = '100000', BENCH_READERS = '400', BENCH_ONLY = ''} = process.env;
const count = Number(BENCH_OBJECTS);
const readers = Number(BENCH_READERS);

const limits = {holdMs: 50, getMs: 20, mb: 1024};
/** The interval of the concurrent GETs. */
const probeMs = 5;

const get = (url: URL, agent: https.Agent): Promise<void> =>
  new Promise((resolve, reject) => {
    https
      .get(
        url,
        {agent, headers: {accept: 'application/json', 'user-agent': 'probe'}},
        response => void response.resume().once('end', resolve).once('error', reject),
      )
      .once('error', reject);
  });

/** Runs an operation while one object is fetched repeatedly, and returns the latencies in ms, sorted. */
const beside = async (
  url: URL,
  agent: https.Agent,
  act: () => Promise<string>,
): Promise<{readonly note: string; readonly ms: number; readonly took: readonly number[]}> => {
  const running = {over: false};
  const took: number[] = [];
  const startedAt = performance.now();
  const acted = act().finally(() => (running.over = true));
  while (!running.over) {
    const askedAt = performance.now();
    await get(url, agent);
    took.push(performance.now() - askedAt);
    await wait(probeMs);
  }
  return {note: await acted, ms: performance.now() - startedAt, took: took.sort((a, b) => a - b)};
};

const within = (value: number, limit: number, unit: string): string => `${value <= limit ? 'within' : 'BEYOND'} ${limit} ${unit}`;

/**
 * The cost of a large collection and large bodies: the longest block of the server's event loop, the latency of other
 * requests, and memory. The server, the load and the GETs run in separate processes. BENCH_OBJECTS (100,000),
 * BENCH_READERS (400, which read nothing) and BENCH_ONLY (a regular expression on names) select what is run.
 */
export async function* manyRows(): AsyncGenerator<Row> {
  const directory = await scratch();
  const server = new Child('many-server.js', {directory, count} satisfies ManyServer);
  const {url, seconds} = await server.answer<{url: string; seconds: number}>();
  yield row(`stored, then started with ${count.toLocaleString('en-US')} objects`, seconds, 's', {
    note: `load of the machine ${loadavg()[0]!.toFixed(1)}`,
  });
  const load = new Child('many-load.js', {directory, url, readers} satisfies ManyLoad);
  await load.answer();
  const agent = new https.Agent({...adminTls(directory), keepAlive: true});
  const one = new URL(`${collection}/item-1`, url);
  for (const name of Object.keys(operations).filter(name => new RegExp(BENCH_ONLY).test(name))) {
    await get(one, agent);
    await server.ask<ServerStatistics>('statistics');
    const {note, ms, took} = await beside(one, agent, async () => (await load.ask<{said: string}>(name)).said);
    const {hold, workedMs, waitedMs, beganMb, maxMb} = await server.ask<ServerStatistics>('statistics');
    const p99 = took[Math.floor(took.length * 0.99)] ?? 0;
    const worst = took.at(-1) ?? 0;
    yield row(`longest hold: ${name}`, hold.ms, 'ms', {
      note: `${within(hold.ms, limits.holdMs, 'ms')}, in ${hold.look}; took ${Math.round(ms)} ms, the thread worked ${Math.round(workedMs)} and waited ${Math.round(waitedMs)} for a processor${note && `; ${note}`}`,
    });
    yield row('  GET beside it, 99 of 100', p99, 'ms', {
      note: `${within(p99, limits.getMs, 'ms')}; worst ${worst.toFixed(1)} ms of ${took.length}; load of the machine ${loadavg()[0]!.toFixed(1)}`,
    });
    yield row('  memory', maxMb, 'MB', {note: `${within(maxMb, limits.mb, 'MB')}; ${Math.round(maxMb - beganMb)} more than before`});
  }
  agent.destroy();
  await load.stop();
  await server.stop();
}
