import type {Labels, Meter} from '#src/base/meter.js';
import type {PluginWatcher} from './plugin-watcher.js';

/** Registers the metric about the plugins of a node. Its name is the original's, without that of the agent. */
export const observePlugins = (meter: Pick<Meter, 'observed'>, watcher: Pick<PluginWatcher, 'paths'>): void => {
  const counted = (state: string, paths: readonly string[]): (readonly [Labels, number])[] =>
    paths.map(path => [{socket_path: path, state}, 1] as const);
  meter.observed(
    {name: 'plugin_manager_total_plugins', help: 'Number of plugins in Plugin Manager', labels: ['socket_path', 'state']},
    () => {
      const {registered, wanted} = watcher.paths();
      return [...counted('actual_state_of_world', registered), ...counted('desired_state_of_world', wanted)];
    },
  );
};
