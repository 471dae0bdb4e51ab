import type {Session} from 'node:inspector/promises';
import {monitorEventLoopDelay} from 'node:perf_hooks';
import type {ApiResponse} from '#src/api/request.js';
import {type Clock, sleep} from '#src/base/clock.js';
import {type AdministrativeRoute, type AdministrativeRequest, notFoundPage, text} from './route.js';

export interface ProfilingOptions {
  readonly clock: Clock;
  readonly argv: readonly string[];
  /** Whether `block` measures delays of the event loop. */
  readonly contention?: boolean;
}

/**
 * The available profiles, as the index lists them. They are V8's: open them in the developer tools of a browser, or in
 * an editor.
 */
const profiles = {
  profile: 'CPU profile of ?seconds= (30), a .cpuprofile',
  heap: 'what ?seconds= (10) of allocations left alive, a .heapprofile',
  allocs: 'all that ?seconds= (10) allocated, a .heapprofile',
  block: 'how long the event loop was held up, with contention profiling',
  cmdline: 'the command line',
} as const;

const maxSeconds = 600;

/** `/debug/pprof/`. The inspector is loaded and active only while a profile is taken; one at a time. */
export const profilingRoutes = ({clock, argv, contention = false}: ProfilingOptions): AdministrativeRoute[] => {
  const delays = contention ? delayHistogram() : undefined;
  let isBusy = false;
  const profiled = async (
    request: AdministrativeRequest,
    run: (session: Session, wait: () => Promise<void>) => Promise<object>,
    seconds: number,
  ): Promise<ApiResponse> => {
    if (isBusy) return text('Could not enable profiling: a profile is being taken already\n', 500);
    isBusy = true;
    try {
      return jsonFile(
        await inspected(session => run(session, () => sleep(clock, secondsOf(request, seconds) * 1000, request.request.signal))),
      );
    } finally {
      isBusy = false;
    }
  };
  const answer = (request: AdministrativeRequest): ApiResponse | Promise<ApiResponse> => {
    switch (request.path.slice('/debug/pprof/'.length)) {
      case '':
        return index();
      case 'profile':
        return profiled(request, cpu, 30);
      case 'heap':
        return profiled(request, heap({includeObjectsCollectedByMajorGC: false, includeObjectsCollectedByMinorGC: false}), 10);
      case 'allocs':
        return profiled(request, heap({includeObjectsCollectedByMajorGC: true, includeObjectsCollectedByMinorGC: true}), 10);
      case 'block':
        return delays ? text(delays()) : text('contention profiling is off (--contention-profiling)\n', 404);
      case 'cmdline':
        return text(argv.join('\0'));
      default:
        return notFoundPage();
    }
  };
  return [
    {path: '/debug/pprof', answer: index},
    {path: '/debug/pprof/*', answer},
  ];
};

const index = (): ApiResponse =>
  text(
    `/debug/pprof/\n\n${Object.entries(profiles)
      .map(([name, what]) => `${name}: ${what}\n`)
      .join('')}`,
  );

const secondsOf = ({query}: AdministrativeRequest, fallback: number): number => {
  const seconds = Number(query.get('seconds') ?? fallback);
  return seconds > 0 ? Math.min(seconds, maxSeconds) : fallback;
};

const inspected = async (run: (session: Session) => Promise<object>): Promise<object> => {
  const {Session: Inspector} = await import('node:inspector/promises');
  const session = new Inspector();
  session.connect();
  try {
    return await run(session);
  } finally {
    session.disconnect();
  }
};

const cpu = async (session: Session, wait: () => Promise<void>): Promise<object> => {
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
  await wait();
  return (await session.post('Profiler.stop')).profile;
};

const heap =
  (kept: {readonly includeObjectsCollectedByMajorGC: boolean; readonly includeObjectsCollectedByMinorGC: boolean}) =>
  async (session: Session, wait: () => Promise<void>): Promise<object> => {
    await session.post('HeapProfiler.startSampling', {samplingInterval: 16_384, ...kept});
    await wait();
    return (await session.post('HeapProfiler.stopSampling')).profile;
  };

const jsonFile = (value: object): ApiResponse => text(JSON.stringify(value), 200, 'application/json');

/** The counterpart of Go's mutex contention: long turns of the event loop, for which other work waits. */
const delayHistogram = (): (() => string) => {
  const histogram = monitorEventLoopDelay({resolution: 10});
  histogram.enable();
  const ms = (ns: number) => (ns / 1e6).toFixed(3);
  return () =>
    [50, 90, 99, 99.9, 100].map(percent => `event loop delay p${percent}: ${ms(histogram.percentile(percent))} ms\n`).join('') +
    `event loop delay mean: ${ms(histogram.mean)} ms\n`;
};
