// The plugins of a node: processes that register themselves by a socket in a folder of the agent.

import {join} from 'node:path';
import type {Files} from '#src/base/files/files.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {pluginsFolder} from '#src/platlet/host/folders.js';
import type {PluginHandlers} from './plugin-handler.js';
import {PluginWatcher} from './plugin-watcher.js';

/** Returns the feature that registers plugins with these handlers. */
export const pluginRegistration = (files: Pick<Files, 'watch'>, handlers: PluginHandlers): AgentFeature => ({
  name: 'registration of plugins',
  start: ({flags, host, clock, log, signal}) =>
    new PluginWatcher({folder: join(flags.rootDir, pluginsFolder), handlers, host, files, clock, log, signal}).start(),
});
