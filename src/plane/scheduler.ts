import {readFileSync} from 'node:fs';
import type {Naming} from '#src/api/naming.js';
import {parseYaml} from '#src/base/yaml/parse.js';
import {schedulerFlags, type SchedulerOptions} from '#src/options/programs/scheduler.js';
import {schedulerController} from '#src/scheduler/controller.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';
import {defaultSettings, type Settings} from '#src/scheduler/settings.js';
import type {Component} from './component/component.js';

/** The scheduler, as a component of a control plane. */
export const scheduler: Component<(typeof schedulerFlags)['rows']> = {
  program: 'plat-scheduler',
  role: 'scheduler',
  flags: schedulerFlags,
  check: options => void schedulerSettings(options),
  async plan({options, connection}) {
    return {
      first: {
        controllers: [schedulerController(schedulerSettings(options))],
        clientFor: () => connection.client('scheduler'),
        startIntervalMs: 0,
        shutdownTimeoutMs: 10_000,
        minResyncMs: 0,
      },
    };
  },
  async configuration(options, naming) {
    return () => configuration(options, naming);
  },
};

/**
 * Reads the settings of a scheduler from its flags and from the file that `--config` names. Throws an error of one line
 * that names flag and file.
 */
const schedulerSettings = ({
  config,
  podMaxInUnschedulablePodsDuration,
}: Pick<SchedulerOptions, 'config' | 'podMaxInUnschedulablePodsDuration'>): Settings => {
  const fromFlags = {patienceMs: podMaxInUnschedulablePodsDuration};
  if (!config) return {...defaultSettings, ...fromFlags};
  try {
    return {...settingsOf(parseYaml(readFileSync(config, 'utf8')).value), ...fromFlags};
  } catch (cause) {
    throw new Error(`--config ${config}: ${(cause as Error).message}`, {cause});
  }
};

const configuration = (options: SchedulerOptions, naming: Naming): Readonly<Record<string, unknown>> => ({
  [`${naming.prefix}scheduler.${naming.group('config')}`]: {
    ClientConnection: {
      Kubeconfig: options.platconfig,
      ContentType: options.platApiContentType,
      QPS: options.platApiQps,
      Burst: options.platApiBurst,
    },
    LeaderElection: {
      LeaderElect: options.leaderElect,
      ResourceName: options.leaderElectResourceName,
      ResourceNamespace: options.leaderElectResourceNamespace,
    },
    Profiles: [...schedulerSettings(options).profiles].map(([name, {percentageOfNodesToScore, filters, scores}]) => ({
      SchedulerName: name,
      PercentageOfNodesToScore: percentageOfNodesToScore,
      Plugins: {Filter: filters.map(({plugin}) => plugin), Score: scores.map(({plugin, weight}) => ({Name: plugin, Weight: weight}))},
    })),
  },
});
