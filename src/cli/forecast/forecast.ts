import {readFileSync} from 'node:fs';
import {parseDuration} from '#src/api/duration.js';
import {kinds} from '#src/api/kinds/index.js';
import {systemClock} from '#src/base/clock.js';
import type {forecastFlags} from '#src/options/programs/questions/forecast.js';
import type {Invocation} from '#src/program/program.js';
import {commandClient} from '#src/cli/program/command-client.js';
import {loadOf, loadsIn, type Load} from './load.js';
import {checkTimes, standInsOf} from './nodes.js';
import {differenceReport, jsonDifference, jsonReport, textReport, type About} from './report.js';
import {forecast, type RunOptions} from './run.js';
import {readCluster, readSnapshot, type Source} from './source.js';
import {difference} from './timeline.js';

type ForecastInvocation = Invocation<(typeof forecastFlags)['rows']>;

/** `plat forecast`: says what happens to the objects of a cluster when time passes. Nothing is written to it. */
export const runForecast = async (invocation: ForecastInvocation): Promise<number> => {
  const {
    parsed: {options},
    print,
    stopping: signal,
  } = invocation;
  if (options.until <= 0) throw new Error('--until must be above zero');
  const {source, namespace} = await sourceOf(invocation);
  const jobTimes = jobTimesOf(options.jobTime, namespace);
  checkTimes(source, jobTimes);
  const settings: RunOptions = {forMs: options.until, loads: loadsOf(options, namespace), jobTimes, apply: [], signal};
  const notes = [...source.notes, ...standInsOf(source, jobTimes).notes, ...loadNotes(source, settings.loads)];
  const about: About = {from: source.at, until: source.at + options.until, objects: source.objects.size, notes};
  const show = (text: () => readonly string[], data: () => object) => {
    if (options.output === 'json') print(JSON.stringify(data(), undefined, 2));
    else for (const line of text()) print(line);
  };
  const without = await forecast(source, settings);
  if (options.apply.length === 0)
    show(
      () => textReport(about, without),
      () => jsonReport(about, without),
    );
  else {
    const changes = difference(without.all, (await forecast(source, {...settings, apply: options.apply})).all);
    show(
      () => differenceReport(about, changes),
      () => jsonDifference(about, changes),
    );
  }
  return 0;
};

const sourceOf = async ({
  parsed: {options},
  version,
}: ForecastInvocation): Promise<{readonly source: Source; readonly namespace: string}> => {
  if (options.snapshot) return {source: await readSnapshot(options.snapshot), namespace: options.namespace || 'default'};
  await using connection = await commandClient(options, version);
  return {
    source: await readCluster(connection.client, systemClock.now()),
    namespace: options.namespace || connection.namespace || 'default',
  };
};

const loadsOf = ({load, loadFile}: ForecastInvocation['parsed']['options'], namespace: string): Load[] => [
  ...load.map(text => loadOf(text, namespace)),
  ...(loadFile ? loadsIn(readFileSync(loadFile, 'utf8'), namespace) : []),
];

const loadNotes = ({objects}: Source, loads: readonly Load[]): string[] => {
  const scalers = [...objects.values()].filter(({kind}) => kind === kinds.horizontalPodAutoscalers.kind).length;
  return scalers > 0 && loads.length === 0 ? ['autoscalers do nothing without --load'] : [];
};

/** Reads the values of `--job-time`: the name of a cron job and a duration. */
const jobTimesOf = (texts: readonly string[], namespace: string): ReadonlyMap<string, number> =>
  new Map(
    texts.map(text => {
      const [name = '', time = ''] = text.split('=', 2);
      const ms = parseDuration(time);
      if (!name || ms === undefined) throw new Error(`--job-time: ${JSON.stringify(text)} has not the form [NAMESPACE/]NAME=DURATION`);
      return [name.includes('/') ? name : `${namespace}/${name}`, ms];
    }),
  );
