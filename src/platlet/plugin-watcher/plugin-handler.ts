/** The types of plugins. */
export type PluginType = 'CSIPlugin' | 'DRAPlugin' | 'DevicePlugin';

/** A plugin as it presents itself. */
export interface Plugin {
  readonly name: string;
  /** The path of the socket on which it serves. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/**
 * What uses the plugins of a type. The calls for one socket never overlap; those for several sockets with plugins of
 * the same name may.
 */
export interface PluginHandler {
  /** Throws if the plugin cannot be used; that is tried again later. */
  validate(plugin: Plugin): void | Promise<void>;
  /**
   * Begins to use a plugin. The plugin is told the message of an error, and not tried again until its socket is new.
   */
  register(plugin: Plugin): void | Promise<void>;
  /** Called when the socket is gone or another, even if the registration failed. */
  deregister(plugin: Plugin): void | Promise<void>;
}

/** The handlers, by type of plugin. */
export type PluginHandlers = Readonly<Partial<Record<PluginType, PluginHandler>>>;
