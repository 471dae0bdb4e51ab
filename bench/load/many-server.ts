import {readFileSync} from 'node:fs';
import {startPlane} from '#src/plane/index.js';
import {threadTime} from '#test/sweep/holds.js';
import {type Hold, Holds} from './holds.js';
import {seedConfigMaps} from './seed.js';

/** The settings of the server process, as JSON in its only argument. */
export interface ManyServer {
  readonly directory: string;
  /** The number of config maps in namespace `many`, 1 kB each, created before the server starts. */
  readonly count: number;
}

/** Measurements of the server process since the last query. */
export interface ServerStatistics {
  /** The longest block of its event loop. */
  readonly hold: Hold;
  /** The CPU time of its main thread, and its run-queue wait. */
  readonly workedMs: number;
  readonly waitedMs: number;
  /** Memory without mapped files: at the beginning, and the maximum since. */
  readonly beganMb: number;
  readonly maxMb: number;
}

const ownMb = (): number => Number(/RssAnon:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024;

const run = async (what: ManyServer): Promise<void> => {
  const startedAt = performance.now();
  await seedConfigMaps(what);
  const plane = await startPlane({
    dataDir: what.directory,
    apiserverArgs: ['--feature-gates=CBORServingAndStorage=true'],
    controllerManagerArgs: ['--controllers=-*'],
  });
  let holds = new Holds();
  await holds.start();
  let used = threadTime();
  let beganMb = ownMb();
  let mostMb = beganMb;
  setInterval(() => {
    mostMb = Math.max(mostMb, ownMb());
  }, 50);
  const answer = async (): Promise<void> => {
    const {worked, waited} = threadTime();
    const statistics: ServerStatistics = {
      hold: await holds.stop(),
      workedMs: worked - used.worked,
      waitedMs: waited - used.waited,
      beganMb,
      maxMb: Math.max(mostMb, ownMb()),
    };
    globalThis.gc?.();
    holds = new Holds();
    await holds.start();
    beganMb = mostMb = ownMb();
    used = threadTime();
    process.send!(statistics);
  };
  process.on('message', () => void answer());
  process.once('disconnect', () => void plane.stop().then(() => process.exit(0)));
  process.send!({url: plane.url, seconds: (performance.now() - startedAt) / 1000});
};

const [, , argument] = process.argv;
if (argument) await run(JSON.parse(argument) as ManyServer);
