// A round: servers, clients and watchers in processes of their own, faults drawn from a seed, and the checker's verdict
// on what was recorded.

import {fork, type ChildProcess} from 'node:child_process';
import {appendFileSync, writeFileSync} from 'node:fs';
import {setTimeout as wait} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import {seededRandom, type Random} from '#src/base/random.js';
import {check, type Verdict} from '#test/faults/check/check.js';
import {microseconds, recordsOf, type Remark} from '#test/faults/history/records.js';
import type {LoadOptions, Progress} from '#test/faults/load/process.js';
import {token} from './api-server.js';
import {faults, type Fault} from './faults.js';
import {World, type Backend} from './world.js';

export interface RoundOptions {
  readonly backend: Backend;
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  readonly watchers: number;
  readonly keys: number;
  /** The names of the faults that may happen; all that the backend can have without. */
  readonly only?: readonly string[] | undefined;
  /** Where the history is written. */
  readonly file: string;
  readonly progress?: (progress: Progress, faults: ReadonlyMap<string, number>) => void;
}

export interface RoundResult extends Verdict {
  readonly faults: ReadonlyMap<string, number>;
  /** Why some faults could not happen. */
  readonly missing: readonly string[];
  /** What each server has logged last. */
  readonly logs: readonly string[];
}

/** The clients' process. */
class LoadProcess {
  readonly #child: ChildProcess;
  readonly #wakes = new Set<() => void>();
  latest: Progress = {operations: 0, unknown: 0, events: 0};
  #hasEnded = false;

  constructor(options: LoadOptions) {
    this.#child = fork(fileURLToPath(new URL('../load/process.js', import.meta.url)), [JSON.stringify(options)]);
    this.#child.on('message', (progress: Progress) => {
      // What was reached stays: several messages may come before anybody looks.
      this.latest = {...this.latest, ...progress};
      this.#wake();
    });
    this.#child.once('exit', () => {
      this.#hasEnded = true;
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }

  async until(isReached: (progress: Progress) => boolean): Promise<void> {
    while (!isReached(this.latest)) {
      if (this.#hasEnded) throw new Error("the clients' process ended");
      await new Promise<void>(resolve => {
        const wake = () => {
          this.#wakes.delete(wake);
          resolve();
        };
        this.#wakes.add(wake);
      });
    }
  }

  send(message: 'work' | 'stop'): void {
    this.#child.send(message);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

const remark = (type: Remark['type'], text: string): string => `${JSON.stringify({type, at: microseconds(), text} satisfies Remark)}\n`;

/** Runs a round. */
export const runRound = async (options: RoundOptions): Promise<RoundResult> => {
  const {backend, seed, file, only, seconds, progress} = options;
  writeFileSync(file, remark('note', `${backend}, seed ${seed}`));
  const happened = new Map<string, number>();
  await using world = await World.open(backend);
  const possible = faults.filter(fault => (!only || only.includes(fault.name)) && fault.isFor(backend, world));
  const load = new LoadProcess({
    name: 's',
    seed,
    servers: {urls: world.servers.map(({relay}) => relay.url), token},
    clients: options.clients,
    watchers: options.watchers,
    keys: options.keys,
    file,
  });
  const timer = setInterval(() => progress?.(load.latest, happened), 1000);
  const notes: string[] = [];
  try {
    await load.until(({isReady}) => isReady === true);
    load.send('work');
    await disturb(world, {possible, seconds, random: seededRandom(seed), happened, notes});
    for (const [index, server] of world.servers.entries())
      if (server.ending) {
        notes.push(remark('problem', `server ${index} ended by itself: ${server.ending}`));
        await server.restart();
      }
    load.send('stop');
    await load.until(({isDone}) => isDone === true);
    for (const [index, {ending}] of world.servers.entries())
      if (ending) notes.push(remark('problem', `server ${index} ended by itself after the faults: ${ending}`));
  } catch (error) {
    notes.push(remark('problem', (error as Error).message));
    load.kill();
  } finally {
    clearInterval(timer);
    appendFileSync(file, notes.join(''));
  }
  return {...(await check(recordsOf(file))), faults: happened, missing: world.missing, logs: world.servers.map(({log}) => log)};
};

interface Disturbance {
  readonly possible: readonly Fault[];
  readonly seconds: number;
  readonly random: Random;
  readonly happened: Map<string, number>;
  readonly notes: string[];
}

/** Lets faults happen one after the other, with some time of peace in between and at the end. */
const disturb = async (world: World, {possible, seconds, random, happened, notes}: Disturbance): Promise<void> => {
  const end = microseconds() + seconds * 1e6;
  while (microseconds() < end) {
    await wait(Math.min(200 + random.float() * 1500, Math.max(0, (end - microseconds()) / 1000)));
    if (microseconds() >= end || possible.length === 0) continue;
    const fault = possible[Math.floor(random.float() * possible.length)]!;
    notes.push(remark('note', `${fault.name} begins`));
    await fault.run(world, random);
    notes.push(remark('note', `${fault.name} is over`));
    happened.set(fault.name, (happened.get(fault.name) ?? 0) + 1);
  }
};
