import type {Filter, Permit, PluginName, Score} from '#src/scheduler/framework/plugin.js';
import {defaultProfile, type Profile} from '#src/scheduler/profile.js';
import {listOf, numberOf, objectOf, textOf, invalid} from './fields.js';

interface Enabled {
  readonly name: string;
  readonly weight: number;
}
interface PluginSet {
  readonly enabled: readonly Enabled[];
  readonly disabled: readonly string[];
}

const setOf = (value: unknown, path: string): PluginSet => {
  const {enabled, disabled} = objectOf(value, path, ['enabled', 'disabled']);
  return {
    enabled: listOf(enabled, `${path}.enabled`, (item, at) => {
      const {name, weight} = objectOf(item, at, ['name', 'weight']);
      return {name: textOf(name, `${at}.name`), weight: numberOf(weight, `${at}.weight`, {min: 0, max: 2 ** 31 - 1, fallback: 0})};
    }),
    disabled: listOf(disabled, `${path}.disabled`, (item, at) => textOf(objectOf(item, at, ['name'])['name'], `${at}.name`)),
  };
};

/**
 * The extension points at which plugins can be selected. Plugins that a filter needs before and after it are selected
 * with it.
 */
const points = ['multiPoint', 'filter', 'postFilter', 'score', 'permit'] as const;

type Plugin = Filter | Permit | Score;

/**
 * Returns the plugins of one extension point: the default ones except those disabled, and those enabled, with the
 * configured weights.
 */
const selectPlugins = <T extends Plugin>(all: readonly T[], everywhere: PluginSet, here: PluginSet): T[] => {
  const off = (set: PluginSet, name: string) => set.disabled.includes('*') || set.disabled.includes(name);
  const on = (set: PluginSet, name: string) => set.enabled.find(each => each.name === name);
  return all.flatMap(plugin => {
    const {plugin: name} = plugin;
    const enabled = on(here, name) ?? (off(here, name) ? undefined : on(everywhere, name));
    if (!enabled && (off(here, name) || off(everywhere, name))) return [];
    return enabled?.weight && 'weight' in plugin ? [{...plugin, weight: enabled.weight}] : [plugin];
  });
};

const known = (profile: Profile): ReadonlySet<string> =>
  new Set<PluginName | 'PrioritySort' | 'DefaultBinder'>([
    'SchedulingGates',
    'DefaultPreemption',
    'PrioritySort',
    'DefaultBinder',
    ...[...profile.filters, ...profile.scores, ...profile.permits].map(({plugin}) => plugin),
  ]);

/** Returns the profile with the plugins that a configuration enables. */
export const withPlugins = (value: unknown, path: string, profile: Profile = defaultProfile): Profile => {
  const fields = objectOf(value, path, points);
  const [multiPoint, filter, postFilter, score, permit] = points.map(point => setOf(fields[point], `${path}.${point}`)) as [
    PluginSet,
    PluginSet,
    PluginSet,
    PluginSet,
    PluginSet,
  ];
  const names = known(profile);
  for (const [at, set] of [multiPoint, filter, postFilter, score, permit].entries()) {
    const unknownPlugin = [...set.enabled.map(({name}) => name), ...set.disabled].find(name => name !== '*' && !names.has(name));
    if (unknownPlugin !== undefined) invalid(`${path}.${points[at]}`, `there is no plugin ${JSON.stringify(unknownPlugin)}`);
  }
  const preemption = {plugin: 'DefaultPreemption', weight: 1} as unknown as Score;
  return {
    ...profile,
    filters: selectPlugins(profile.filters, multiPoint, filter),
    scores: selectPlugins(profile.scores, multiPoint, score),
    permits: selectPlugins(profile.permits, multiPoint, permit),
    preempts: selectPlugins([preemption], multiPoint, postFilter).length > 0,
  };
};
