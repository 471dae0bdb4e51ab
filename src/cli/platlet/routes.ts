// The administrative paths of the agent's program: its metrics, and what serves for debugging.

import type {Naming} from '#src/api/naming.js';
import {systemRandom as random} from '#src/base/random.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {gateOf} from '#src/options/parsed-options.js';
import {flagValues} from '#src/options/flag-values.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {systemJournal} from '#src/platlet/system-logs/journal.js';
import {logFolder} from '#src/platlet/system-logs/log-folder.js';
import {systemLogRoutes} from '#src/platlet/system-logs/routes.js';
import {zPages} from '#src/plane/component/zpages.js';
import {metricsRoute} from '#src/serving/administration/metrics.js';
import {verbosityRoute} from '#src/serving/administration/plain.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import {text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import type {AgentInvocation} from './configuration.js';

/** The metrics of the agent, which are served also where nothing is for debugging. */
export const metricRoutes = (metrics: MetricsRegistry): AdministrativeRoute[] => [metricsRoute(metrics, {resets: false})];

const disabled = (path: string, what: string): AdministrativeRoute => ({path, answer: () => text(`${what} endpoint is disabled.\n`, 405)});

const systemLogFolder = '/var/log';

/** The flags as they are shown: without the values of headers, which may be secret. */
const shownFlags = (options: AgentInvocation['parsed']['options']): Readonly<Record<string, string>> => {
  const flags = flagValues(platletFlags, options);
  return options.manifestUrlHeader.size > 0
    ? {...flags, 'manifest-url-header': [...options.manifestUrlHeader.keys()].map(name => `${name}:<masked>`).join(',')}
    : flags;
};

/** What serves for debugging, as far as the configuration allows. */
export const debugRoutes = (
  {parsed, clock, verbosity, version}: Pick<AgentInvocation, 'parsed' | 'clock' | 'verbosity' | 'version'>,
  settings: Settings,
  naming: Naming,
): AdministrativeRoute[] => {
  const gate = gateOf(parsed);
  const {enableProfilingHandler, enableContentionProfiling: contention, enableDebugFlagsHandler, enableSystemLogHandler} = settings;
  const asksJournal = settings.enableSystemLogQuery && gate('NodeLogQuery');
  const logs = {folder: logFolder(systemLogFolder, [settings.podLogsDir]), clock, journal: asksJournal ? systemJournal : undefined};
  const routes = [
    ...(enableSystemLogHandler ? systemLogRoutes(logs) : [disabled('/logs', 'logs'), disabled('/logs/*', 'logs')]),
    ...(enableProfilingHandler ? profilingRoutes({clock, argv: process.argv, contention}) : [disabled('/debug/pprof/*', 'profiling')]),
    enableDebugFlagsHandler ? verbosityRoute(verbosity) : disabled('/debug/flags/v', 'flags'),
  ];
  const parts = {naming, clock, random, component: naming.agent, version, flags: () => shownFlags(parsed.options), gate};
  return [...routes, ...zPages(parts, () => [...builtIn, ...routes.map(({path}) => path)])];
};

/** The paths of every agent. */
const builtIn = [
  '/healthz',
  '/pods',
  '/metrics',
  '/stats/',
  '/run',
  '/exec',
  '/attach',
  '/portForward',
  '/containerLogs',
  '/configz',
  '/runningpods/',
];
