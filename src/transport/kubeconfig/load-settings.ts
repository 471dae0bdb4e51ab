import {type Naming, naming} from '#src/api/naming.js';
import {type ClusterEnvironment, inClusterSettings} from './in-cluster.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {checkedServer, readSettingsFile} from './settings-file.js';

export interface SettingsLocation extends ClusterEnvironment {
  /** The settings file, and the flag that names it. */
  readonly file?: string | undefined;
  readonly fileFlag?: string;
  /** Overrides the file's server; without a file, a server that needs no credentials. */
  readonly master?: string | undefined;
  readonly context?: string | undefined;
  /** The namings to look for in a pod; both by default. */
  readonly namings?: readonly Naming[];
}

/**
 * Returns the settings of the server: from the file, from the plain address, or from the pod's environment. Rejects
 * with an error of one line that names the flags.
 */
export const loadSettings = async (location: SettingsLocation): Promise<ConnectionSettings> => {
  const {file, fileFlag = '--platconfig', master, context, namings = [naming('plat'), naming('kubernetes')]} = location;
  const server = master ? masterOf(master) : undefined;
  if (file) return readSettingsFile(file, {flag: fileFlag, context, server: master});
  if (server) return {server, trust: {}, identity: {}, source: '--master'};
  const found = await inClusterSettings(namings, location);
  if (!found)
    throw new Error(
      `neither ${fileFlag} nor --master was given, and this is not a pod of a cluster: give ${fileFlag}=FILE, a kubeconfig as kubectl reads it`,
    );
  return found;
};

const masterOf = (master: string): string => {
  try {
    return checkedServer(master);
  } catch (cause) {
    throw new Error(`--master: ${(cause as Error).message}`, {cause});
  }
};
