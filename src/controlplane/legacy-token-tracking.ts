import {kinds} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import type {Client} from '#src/client/client.js';

const isDay = (text: string | undefined): boolean => text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTime(`${text}T00:00:00Z`) !== undefined;

/** Keeps a note of the day since which uses of tokens in secrets are written down: who cleans them up must not judge by what came before. */
export const ensureLegacyTokenTracking = async (client: Client, now: number): Promise<void> => {
  const {naming} = client;
  const namespace = naming.systemNamespace;
  const name = naming.legacyTokenTracking;
  const configMaps = client.resource(kinds.configMaps);
  const data = {since: new Date(now).toISOString().slice(0, 10)};
  try {
    const found = await configMaps.get(name, {namespace});
    if (!isDay(found.data?.['since'])) await configMaps.update({...found, data: {...found.data, ...data}});
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await configMaps.create({metadata: {namespace, name}, data}).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
};
