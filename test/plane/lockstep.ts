import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {naming as namingOf} from '#src/api/naming.js';
import {recordText} from '#src/apiserver/registry/record.js';
import type {Log, LogMethod} from '#src/base/log.js';
import {seededRandom, type Random} from '#src/base/random.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {flagValues} from '#src/options/flag-values.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {assembleApiServer, type RunningApiServer} from '#src/plane/api-server/api-server.js';
import {apiserverArgs} from '#src/plane/inputs/arguments.js';
import {planeMaterial, type PlaneMaterial} from '#src/plane/inputs/material.js';
import {endOfPrefix, type Store} from '#src/storage/store.js';

const quietTurns = 4;
const writes = new Set(['create', 'update', 'delete']);

/**
 * A store for several servers whose writes wait until none of the servers can go on without one, and are then let
 * through in an order drawn by chance: servers that do the same have all read before the first of them writes.
 */
export const inLockstep = (store: Store, random: Random): Store => {
  let waiting: (() => void)[] = [];
  let calls = 0;
  let isReleasing = false;
  const quiet = async () => {
    for (let turns = 0; turns < quietTurns;) {
      const before = calls;
      await new Promise(resolve => setImmediate(resolve));
      turns = calls === before ? turns + 1 : 0;
    }
  };
  const release = async () => {
    isReleasing = true;
    while (waiting.length > 0) {
      await quiet();
      const due = waiting.map(run => ({run, at: random.float()})).sort((a, b) => a.at - b.at);
      waiting = [];
      for (const {run} of due) run();
    }
    isReleasing = false;
  };
  const turn = () =>
    new Promise<void>(resolve => {
      waiting.push(resolve);
      if (!isReleasing) void release();
    });
  return new Proxy(store, {
    get(target, name: keyof Store) {
      if (name === 'shared') return true;
      if (name === 'close') return async () => {};
      const of = target[name];
      if (typeof of !== 'function') return of;
      const call = (...args: unknown[]) => (of as (...args: unknown[]) => unknown).apply(target, args);
      return (...args: unknown[]) => {
        calls++;
        return writes.has(name) ? turn().then(() => call(...args)) : call(...args);
      };
    },
  });
};

const directory = mkdtempSync(join(tmpdir(), 'plat-lockstep-'));
process.on('exit', () => rmSync(directory, {recursive: true, force: true}));
let material: Promise<PlaneMaterial> | undefined;

export interface TogetherParts {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly count: number;
  readonly args?: readonly string[];
  /** Called with every warning and error. */
  reported(line: string): void;
}

/**
 * Starts servers on one store at the same moment, each reached at an address of its own, and resolves once all are
 * ready.
 */
export const startTogether = async ({store, clock, count, args = [], reported}: TogetherParts): Promise<readonly RunningApiServer[]> => {
  const naming = namingOf('kubernetes');
  const files = await (material ??= planeMaterial(join(directory, 'pki'), clock));
  const report: LogMethod = (fields: unknown, message?: string) =>
    reported(message ? `${message} ${String((fields as {err?: Error}).err?.message ?? '')}` : String(fields));
  const log: Log = {info() {}, warn: report, error: report, v: () => ({...log, warn() {}, error() {}}), child: () => log};
  const servers = await Promise.all(
    Array.from({length: count}, (_, index) => {
      const address = `10.1.0.${index + 1}`;
      const parsed = parseFlags(
        apiserverFlags,
        apiserverArgs({naming: 'kubernetes', apiserverArgs: [`--advertise-address=${address}`, '--secure-port=6443', ...args]}, files),
      );
      return assembleApiServer({
        options: parsed.options,
        naming,
        clock,
        random: seededRandom(index + 1),
        log,
        metrics: new MetricsRegistry(),
        store,
        version: versionInfoOf(parsed),
        versions: parsed.versions,
        flags: () => flagValues(apiserverFlags, parsed.options),
        gate: gateOf(parsed),
        serverAddress: `${address}:6443`,
      });
    }),
  );
  const ready = Promise.all(servers.map(server => server.begin())).then(() => true);
  try {
    while (!(await Promise.race([ready, clock.advance(10)]))); // A refused server waits a moment.
  } catch (error) {
    await Promise.all(servers.map(server => server.close()));
    throw error;
  }
  return servers;
};

/** The fields that differ between any two starts. */
const volatile = new Set([
  'uid',
  'creationTimestamp',
  'lastTransitionTime',
  'lastUpdateTime',
  'time',
  'renewTime',
  'acquireTime',
  'holderIdentity',
  'resourceVersion',
]);

/** The content of a store, by key, without fields that differ between any two starts. */
export const contentOf = async (store: Store, prefix: string): Promise<Record<string, unknown>> => {
  const {records} = await store.range({start: prefix, end: endOfPrefix(prefix)});
  return Object.fromEntries(
    records.map(({key, value}) => [
      key,
      JSON.parse(recordText(value), (name, part: unknown) => (volatile.has(name) ? undefined : part)) as unknown,
    ]),
  );
};
