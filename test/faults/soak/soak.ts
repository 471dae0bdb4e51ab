// A soak: cycles of churn with faults and of quiet. After each quiet the caches of informers are compared with the
// server, and both processes are measured.

import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {InformerFactory} from '#informers/factory.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom, type Random} from '#src/base/random.js';
import {clientBy} from '#test/cli/programs.js';
import {Churn} from './churn.js';
import {growth, type Figure} from './levels.js';
import {measure} from './measure.js';
import {PlaneProcess} from './plane-process.js';
import {Caches} from './quiet.js';

export interface SoakOptions {
  readonly seed: number;
  readonly minutes: number;
  /** The length of the churn of one cycle. */
  readonly cycleSeconds: number;
  readonly nodes: number;
  readonly workers: number;
  readonly progress?: (line: string) => void;
}

export interface SoakResult {
  readonly problems: readonly string[];
  /** Of each cycle after the warm-up, in the order of `figures`. */
  readonly rows: readonly (readonly number[])[];
  readonly requests: number;
  readonly faults: ReadonlyMap<string, number>;
}

/** What must stay level: of the plane, and of the process with the informers. */
export const figures: readonly Figure[] = [
  {name: 'plane MiB', part: 0.15, amount: 25},
  {name: 'plane heap MiB', part: 0.1, amount: 10},
  {name: 'plane files', part: 0, amount: 8},
  {name: 'plane handles', part: 0, amount: 8},
  {name: 'plane timers', part: 0.1, amount: 30},
  {name: 'store MiB', part: 0.25, amount: 8},
  {name: 'client MiB', part: 0.15, amount: 25},
  {name: 'client heap MiB', part: 0.1, amount: 5},
  {name: 'client files', part: 0, amount: 8},
  {name: 'client handles', part: 0, amount: 8},
];

/**
 * How long caches and controllers may take after the load: longer than the longest pause between the attempts of a
 * controller.
 */
const patienceMs = 120_000;
const hour = 3_600_000;

class Soak {
  readonly problems: string[] = [];
  readonly rows: number[][] = [];
  readonly faults = new Map<string, number>();
  readonly #options: SoakOptions;
  readonly #plane: PlaneProcess;
  readonly #churn: Churn;
  readonly #caches: Caches;
  readonly #random: Random;
  /** How far the clock of the plane is off. */
  #offset = 0;

  constructor(options: SoakOptions, plane: PlaneProcess, churn: Churn, caches: Caches) {
    this.#options = options;
    this.#plane = plane;
    this.#churn = churn;
    this.#caches = caches;
    this.#random = seededRandom(options.seed);
  }

  async run(): Promise<void> {
    const {minutes, cycleSeconds} = this.#options;
    const began = performance.now();
    const end = began + minutes * 60_000;
    // Kills belong to the warm-up and to the last cycle, as a process that begins anew tells nothing of growth.
    const warm = began + (minutes * 60_000) / 3;
    for (let cycle = 1; performance.now() < end && this.problems.length === 0; cycle++) {
      const isWarm = performance.now() >= warm;
      await this.#cycle(cycle, cycleSeconds, isWarm);
    }
    if (this.problems.length > 0) return;
    await this.#cycle(0, Math.min(cycleSeconds, 10), false);
    for (const [index, figure] of figures.entries()) {
      const problem = growth(
        figure,
        this.rows.map(row => row[index]!),
      );
      if (problem !== undefined) this.problems.push(problem);
    }
  }

  async #cycle(number: number, seconds: number, isMeasured: boolean): Promise<void> {
    const stop = new AbortController();
    const churning = this.#churn.run(this.#options.workers, stop.signal);
    const end = performance.now() + seconds * 1000;
    while (performance.now() < end) {
      await wait(300 + this.#random.float() * 1500);
      await this.#fault(isMeasured ? 5 : 6);
    }
    stop.abort();
    await churning;
    for (const problem of (await this.#caches.settled(patienceMs)).slice(0, 10)) this.problems.push(`after cycle ${number}: ${problem}`);
    const row = await this.#measure();
    if (isMeasured) this.rows.push(row);
    const {done, failed} = this.#churn.counts;
    this.#options.progress?.(
      `${number === 0 ? 'last cycle' : `cycle ${number}`}: ${done} requests answered, ${failed} failed; ${row.map(value => Math.round(value)).join(' ')}`,
    );
  }

  async #fault(kinds: number): Promise<void> {
    const {relay} = this.#plane;
    const drawn = Math.floor(this.#random.float() * kinds);
    const name = ['cut', 'stall', 'pause', 'jump', 'jump', 'kill'][drawn]!;
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
    if (name === 'cut') relay.cut();
    else if (name === 'stall') {
      relay.stall();
      await wait(this.#random.float() * 2000);
      if (this.#random.float() < 0.5) relay.cut();
      else relay.proceed();
    } else if (name === 'pause') {
      this.#plane.pause();
      await wait(this.#random.float() * 2000);
      this.#plane.proceed();
    } else if (name === 'jump') {
      // Back and forth, within two hours of the true time.
      const offset = (this.#random.float() - 0.5) * 4 * hour;
      this.#plane.jump(offset - this.#offset);
      this.#offset = offset;
    } else {
      await this.#plane.kill();
      await this.#plane.restart();
      this.#offset = 0;
    }
  }

  async #measure(): Promise<number[]> {
    const {memory, heap, files, handles, timers, store} = await this.#plane.measure();
    const own = measure();
    return [memory, heap, files, handles, timers, store, own.memory, own.heap, own.files, own.handles];
  }
}

/** Runs a soak. */
export const soak = async (options: SoakOptions): Promise<SoakResult> => {
  const folder = mkdtempSync(join(tmpdir(), 'plat-soak-'));
  const stop = new AbortController();
  try {
    await using plane = await PlaneProcess.start({directory: join(folder, 'plane'), nodes: options.nodes});
    const settings = join(folder, 'kubeconfig');
    writeFileSync(settings, plane.kubeconfig, {mode: 0o600});
    await using client = await clientBy(settings, 'kubernetes');
    const parts = {clock: systemClock, random: seededRandom(options.seed), log: noLog, meter: noMeter};
    const factory = new InformerFactory({...parts, client, minResyncMs: 0, signal: stop.signal});
    const caches = new Caches(factory, client);
    factory.start();
    const churn = new Churn(client, seededRandom(options.seed + 1));
    const run = new Soak(options, plane, churn, caches);
    try {
      await run.run();
    } catch (error) {
      run.problems.push((error as Error).message);
    } finally {
      stop.abort();
    }
    return {problems: run.problems, rows: run.rows, requests: churn.counts.done, faults: run.faults};
  } finally {
    rmSync(folder, {recursive: true, force: true});
  }
};
