// The process of the plane that a soak wears out: API server, controllers, scheduler and simulated nodes over an
// embedded store, on a wall clock that jumps when it is told to.

import {statSync} from 'node:fs';
import {join} from 'node:path';
import {systemClock, type Clock} from '#src/base/clock.js';
import {startPlane} from '#src/plane/index.js';
import {measure, type Measurement} from './measure.js';

/** The only argument of the process, as JSON. */
export interface SoakedPlane {
  readonly directory: string;
  readonly nodes: number;
}

export interface PlaneMeasurement extends Measurement {
  /** Timers that are set, and the size of the store's file in MiB. */
  readonly timers: number;
  readonly store: number;
}

/** What it is asked, and what it answers: first that it is ready. */
export type PlaneMessage = {readonly jump: number} | {readonly measure: true};
export type PlaneAnswer = {readonly url: string; readonly kubeconfig: string} | {readonly measured: PlaneMeasurement};

/** The system's clock, whose wall time can be set and whose timers are counted. */
class JumpingClock implements Clock {
  timers = 0;
  #offset = 0;

  now(): number {
    return systemClock.now() + this.#offset;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  schedule(afterMs: number, run: () => unknown): Disposable {
    this.timers++;
    let isSet = true;
    const clear = (): void => {
      if (isSet) this.timers--;
      isSet = false;
    };
    const timer = systemClock.schedule(afterMs, () => {
      clear();
      return run();
    });
    return {
      [Symbol.dispose]() {
        clear();
        timer[Symbol.dispose]();
      },
    };
  }

  hold(): Disposable {
    return systemClock.hold();
  }

  unhandled(error: unknown): void {
    systemClock.unhandled(error);
  }

  keepAlive(): Disposable {
    return systemClock.keepAlive();
  }

  jump(ms: number): void {
    this.#offset += ms;
  }
}

const run = async ({directory, nodes}: SoakedPlane): Promise<void> => {
  const clock = new JumpingClock();
  const plane = await startPlane({
    clock,
    nodes,
    dataDir: directory,
    securePort: 0,
    // What grows for an hour by default is level after seconds.
    apiserverArgs: ['--event-ttl=20s', '--kvstore-compaction-interval=5s'],
  });
  const answer = (message: PlaneAnswer): void => void process.send!(message);
  process.on('message', (message: PlaneMessage) => {
    if ('jump' in message) clock.jump(message.jump);
    else {
      const store = statSync(join(directory, 'store', 'data.mdb')).size / 2 ** 20;
      answer({measured: {...measure(), timers: clock.timers, store}});
    }
  });
  process.once('disconnect', () => process.exit(0));
  answer({url: plane.url, kubeconfig: plane.kubeconfig});
};

const [, , argument] = process.argv;
if (argument && process.send) await run(JSON.parse(argument) as SoakedPlane);
