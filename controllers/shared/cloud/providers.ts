import type {CloudProvider, ProviderParts} from '#src/runtime/cloud.js';

type Open = (parts: ProviderParts) => Promise<CloudProvider>;

/** The providers by the names that `--cloud-provider` takes. */
const providers: Readonly<Record<string, Open>> = {
  simulated: async parts => (await import('./simulated/provider.js')).openSimulated(parts),
};

/**
 * Opens the provider of a name. Rejects for an unknown one, and with an error of one line for an unusable
 * configuration.
 */
export const openProvider = (name: string, parts: ProviderParts): Promise<CloudProvider> => {
  const open = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (!open) throw new Error(`there is no cloud provider ${JSON.stringify(name)}`);
  return open(parts);
};
