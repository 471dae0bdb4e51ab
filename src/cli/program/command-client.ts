import {systemClock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import type {Client} from '#src/client/client.js';
import {chosenNaming, connectedClient} from '#src/client/connected.js';
import {connect} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {settingsFile, type SettingsOptions} from './settings-file.js';

/** A client of the server that the flags of a command name. */
export interface CommandClient extends AsyncDisposable {
  readonly client: Client;
  /** The URL of the server, and the CA that the settings trust, if they name one. */
  readonly server: string;
  readonly ca: {readonly data: string} | {readonly file: string} | undefined;
  /** The namespace of the context, if it names one. */
  readonly namespace: string | undefined;
}

/** Connects to the server by the flags, the environment, or a plane that was started in this directory. */
export const commandClient = async (
  options: SettingsOptions & {readonly context?: string},
  {gitVersion}: {readonly gitVersion: string},
): Promise<CommandClient> => {
  const file = settingsFile(options, process.env);
  const settings = await loadSettings({file, master: options.master, context: options.context || undefined, env: process.env});
  const connection = await connect(settings, {clock: systemClock});
  try {
    const common = {clock: systemClock, meter: noMeter, userAgent: `plat/${gitVersion}`, timeoutMs: 30_000};
    const naming = await chosenNaming(options.naming, connection, common);
    return {
      client: connectedClient(connection, {...common, naming}),
      server: settings.server,
      ca: settings.trust.ca,
      namespace: settings.namespace,
      [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
    };
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
};
