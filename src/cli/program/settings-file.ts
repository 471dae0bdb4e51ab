import {existsSync} from 'node:fs';
import {join} from 'node:path';
import type {NamingName} from '#src/api/naming.js';
import type {CertificateOptions} from '#src/options/programs/client.js';
import {defaultDataDir} from '#src/options/programs/up.js';

export type SettingsOptions = Pick<CertificateOptions, 'platconfig' | 'master' | 'naming'>;

/** The kubeconfig from the flag, the environment, or a plane that was started in this directory. */
export const settingsFile = (
  {platconfig, master, naming}: SettingsOptions,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined => {
  const around = env['KUBECONFIG']?.split(':').find(Boolean);
  if (platconfig || around) return platconfig || around;
  if (master) return undefined;
  const namings: readonly NamingName[] = naming === 'auto' ? ['kubernetes', 'plat'] : [naming];
  const planes = namings.map(each => join(defaultDataDir(each), 'kubeconfig')).filter(file => existsSync(file));
  if (planes.length > 1)
    throw new Error(`there are planes of both namings here, ${planes.join(' and ')}: say which one with --naming or --platconfig`);
  return planes[0];
};
