// The plugins of a node: processes that register themselves by a socket in a folder of the agent.

import {join} from 'node:path';
import type {Files} from '#src/base/files/files.js';
import type {Meter} from '#src/base/meter.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {pluginsFolder} from '#src/platlet/host/folders.js';
import {observePlugins} from './metrics.js';
import type {PluginHandlers} from './plugin-handler.js';
import {PluginWatcher} from './plugin-watcher.js';

/** Returns the feature that registers plugins with these handlers. */
export const pluginRegistration = (
  {files, meter}: {readonly files: Pick<Files, 'watch'>; readonly meter: Pick<Meter, 'observed'>},
  handlers: PluginHandlers,
): AgentFeature => ({
  name: 'registration of plugins',
  start({flags, host, clock, log, signal}) {
    const watcher = new PluginWatcher({folder: join(flags.rootDir, pluginsFolder), handlers, host, files, clock, log, signal});
    observePlugins(meter, watcher);
    return watcher.start();
  },
});
