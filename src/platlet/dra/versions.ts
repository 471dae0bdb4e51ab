// Which version of the service of a plugin is used. Pure.

import type {Naming} from '#src/api/naming.js';
import {pluginServices, type PluginService} from './messages.js';

const supported = Object.keys(pluginServices) as PluginService[];
const listed = (names: readonly string[]): string => `[${names.map(name => JSON.stringify(name)).join(' ')}]`;

/** Returns the first version that the agent supports. Throws if there is none. */
export const chosenService = (versions: readonly string[], naming: Naming): PluginService => {
  if (versions.length === 0) throw new Error('empty list of supported gRPC services (aka supported versions)');
  for (const version of versions) if (Object.hasOwn(pluginServices, version)) return version as PluginService;
  throw new Error(
    `none of services supported by the plugin (${listed(versions)}) are supported by the ${naming.agent} (${listed(supported)})`,
  );
};
