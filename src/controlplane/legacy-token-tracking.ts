import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from './ensure.js';

const isDay = (text: string | undefined): boolean =>
  text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTime(`${text}T00:00:00Z`) !== undefined;

/** Records the date since which uses of tokens in secrets are tracked, which their cleanup requires. */
export const ensureLegacyTokenTracking = async (client: Client, now: number): Promise<void> => {
  const {naming} = client;
  const namespace = naming.systemNamespace;
  const name = naming.legacyTokenTracking;
  const since = new Date(now).toISOString().slice(0, 10);
  await ensureObject(client.resource(kinds.configMaps), {name, namespace}, found => {
    if (!found) return {create: {metadata: {namespace, name}, data: {since}}};
    return isDay(found.data?.['since']) ? undefined : {update: {...found, data: {...found.data, since}}};
  });
};
