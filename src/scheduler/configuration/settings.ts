import {naming} from '#src/api/naming.js';
import {defaultProfile, defaultSchedulerName, type Profile} from '#src/scheduler/profile.js';
import {defaultSettings, type Settings} from '#src/scheduler/settings.js';
import {withArguments} from './arguments.js';
import {withPlugins} from './plugins.js';
import {ConfigurationError, listOf, numberOf, objectOf, textOf, invalid} from './fields.js';

/** The apiVersion and kind of a configuration, in each naming. */
const types = (['plat', 'kubernetes'] as const).map(name => {
  const {prefix, group} = naming(name);
  return {
    apiVersion: `${prefix}scheduler.${group('config')}/v1`,
    kind: `${prefix.charAt(0).toUpperCase()}${prefix.slice(1)}SchedulerConfiguration`,
  };
});

const checkType = (apiVersion: unknown, kind: unknown): void => {
  if (types.some(type => type.apiVersion === apiVersion && type.kind === kind)) return;
  throw new ConfigurationError(`it must be a ${types.map(type => `${type.kind} of ${type.apiVersion}`).join(' or a ')}`);
};

const percentage = (value: unknown, path: string, fallback: number): number => numberOf(value, path, {min: 0, max: 100, fallback});

const profileOf = (value: unknown, path: string, share: number): readonly [name: string, profile: Profile] => {
  const {schedulerName, percentageOfNodesToScore, plugins, pluginConfig} = objectOf(value, path, [
    'schedulerName',
    'percentageOfNodesToScore',
    'plugins',
    'pluginConfig',
  ]);
  const name = schedulerName === undefined ? defaultSchedulerName : textOf(schedulerName, `${path}.schedulerName`);
  const configured = withArguments(pluginConfig, `${path}.pluginConfig`, withPlugins(plugins, `${path}.plugins`));
  return [name, {...configured, percentageOfNodesToScore: percentage(percentageOfNodesToScore, `${path}.percentageOfNodesToScore`, share)}];
};

const seconds = (value: unknown, path: string, fallbackMs: number): number =>
  1000 * numberOf(value, path, {min: 1, max: 2 ** 31 - 1, fallback: fallbackMs / 1000});

/** Reads a parsed configuration. Throws a `ConfigurationError` with a one-line message for what is invalid or not supported. */
export const settingsOf = (value: unknown): Settings => {
  const top = objectOf(value, '', [
    'apiVersion',
    'kind',
    'percentageOfNodesToScore',
    'podInitialBackoffSeconds',
    'podMaxBackoffSeconds',
    'profiles',
  ]);
  checkType(top['apiVersion'], top['kind']);
  const share = percentage(top['percentageOfNodesToScore'], 'percentageOfNodesToScore', 0);
  const profiles = listOf(top['profiles'], 'profiles', (item, path) => profileOf(item, path, share));
  const names = profiles.map(([name]) => name);
  const duplicate = names.findIndex((name, at) => names.indexOf(name) !== at);
  if (duplicate >= 0) invalid(`profiles[${duplicate}].schedulerName`, `Duplicate value: ${JSON.stringify(names[duplicate])}`);
  const {backoff} = defaultSettings;
  const initialMs = seconds(top['podInitialBackoffSeconds'], 'podInitialBackoffSeconds', backoff.initialMs);
  const maxMs = seconds(top['podMaxBackoffSeconds'], 'podMaxBackoffSeconds', backoff.maxMs);
  if (maxMs < initialMs) invalid('podMaxBackoffSeconds', 'must be greater than or equal to PodInitialBackoffSeconds');
  return {
    ...defaultSettings,
    profiles: new Map(profiles.length > 0 ? profiles : [[defaultSchedulerName, {...defaultProfile, percentageOfNodesToScore: share}]]),
    backoff: {initialMs, maxMs},
  };
};
