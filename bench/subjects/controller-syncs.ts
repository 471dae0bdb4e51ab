import {join} from 'node:path';
import {controllers} from '#controllers/index.js';
import {naming} from '#src/api/naming.js';
import {systemClock as clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {systemRandom as random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import {HealthChecks} from '#src/observe/health.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf} from '#src/options/parsed-options.js';
import {requirementsOf} from '#src/runtime/selection.js';
import type {Controller} from '#src/runtime/controller.js';
import {Manager} from '#src/runtime/manager.js';
import {schedulerController} from '#src/scheduler/controller.js';
import {connect} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {createObjects} from '#bench/load/objects.js';
import {seconds as timed} from '#bench/load/each.js';
import {type Hold, Holds} from '#bench/load/holds.js';
import {startPlane, type Running} from '#bench/load/programs.js';
import {type Row, row} from '#bench/run/row.js';

/** The number of objects of each kind. */
const count = Number(process.env['BENCH_OBJECTS'] ?? 5_000);
/** The controllers to measure; all by default. */
const chosen = process.env['BENCH_CONTROLLERS']?.split(',');
const limitMs = 50;

/**
 * How long a controller must be idle before the next is measured, and the least and the longest time of a measurement:
 * some run only periodically.
 */
const restMs = 1_000;
const minMs = 5_000;
const maxMs = 30_000;

const flags = [
  '--horizontal-pod-autoscaler-sync-period=5s',
  '--legacy-service-account-token-clean-up-period=1s',
  '--resource-quota-sync-period=20s',
  '--controller-start-interval=0s',
];

/** A client with its own connection and without rate limits. */
export const remoteClient = async ({directory}: Pick<Running, 'directory'>): Promise<Client & AsyncDisposable> => {
  const connection = await connect(await loadSettings({file: join(directory, 'kubeconfig'), env: {}}), {clock});
  const client = connectedClient(connection, {clock, meter: noMeter, naming: naming('kubernetes'), userAgent: 'bench'});
  return {...client, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]()};
};

/** Runs one controller until it is idle and returns the longest block of the event loop. */
export const longestHold = async (client: Client, controller: Controller): Promise<{readonly hold: Hold; readonly ms: number}> => {
  const parsed = parseFlags(controllerManagerFlags, flags);
  const stop = new AbortController();
  let counted = 0;
  const counting = {add: () => void counted++, at: () => counting};
  const holds = new Holds();
  await holds.start();
  const manager = new Manager({
    name: 'bench',
    controllers: [controller],
    options: parsed.options,
    gates: {enabled: gateOf(parsed)},
    naming: client.naming,
    client,
    clientFor: () => client,
    clock,
    random,
    log: noLog,
    checks: new HealthChecks(noLog),
    startIntervalMs: 0,
    shutdownTimeoutMs: 5_000,
    minResyncMs: 0,
    meter: {...noMeter, counter: () => counting},
  });
  const startedAt = performance.now();
  const end = manager.run(stop.signal);
  await manager.ready;
  for (
    let before = -1, idleSince = startedAt, now = startedAt;
    now - idleSince < restMs && now - startedAt < maxMs;
    now = performance.now()
  ) {
    if (before !== counted || now - startedAt < minMs) idleSince = now;
    before = counted;
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  const ms = performance.now() - startedAt - restMs;
  const hold = await holds.stop();
  stop.abort();
  await end;
  return {hold, ms};
};

/** Progress is printed, since the table comes after some minutes. */
const progress = (line: string): void => void process.stderr.write(`${line}\n`);

/** The measured controllers, which need no flags other than these, and the scheduler. */
export const measured: readonly Controller[] = [
  ...controllers.filter(({name}) => requirementsOf(name).gates.length === 0 && !requirementsOf(name).cloud),
  schedulerController(),
];

/**
 * Each controller alone, with a server in another process that has 5,000 objects of each kind: from its start until it
 * is idle.
 */
export const controllerSyncRows = async (): Promise<Row[]> => {
  const plane = await startPlane(undefined, ['--naming=kubernetes', '--nodes=0', '--controller-manager-arg=--controllers=-*']);
  await using client = await remoteClient(plane);
  const took = await timed(() => createObjects(client, count));
  progress(`made ${count} objects of each kind in ${took.toFixed(0)} s`);
  const rows: Row[] = [];
  let worst = {ms: 0, look: 'none'};
  for (const controller of measured.filter(({name}) => !chosen || chosen.includes(name))) {
    const {hold, ms} = await longestHold(client, controller);
    if (hold.ms > worst.ms) worst = hold;
    progress(`${controller.name}: ${hold.ms.toFixed(1)} ms, ${hold.look}`);
    rows.push(
      row(`longest hold: ${controller.name}`, hold.ms, 'ms', {
        note: `${hold.ms <= limitMs ? 'within' : 'BEYOND'} ${limitMs} ms, in ${(ms / 1000).toFixed(0)} s with ${count} objects of each kind: ${hold.look}`,
      }),
    );
  }
  await plane.stop();
  rows.push(row('longest hold of all', worst.ms, 'ms', {note: worst.look}));
  return rows;
};
