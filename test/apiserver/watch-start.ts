import {aConfigMap, configMaps, startWire} from './wire.js';

/** A server with the config maps `a` and `b`, and the revision after each. */
export const start = async (settings: Parameters<typeof startWire>[0] = {}) => {
  const env = await startWire(settings);
  const versions: string[] = [];
  for (const name of ['a', 'b']) versions.push((await env.post(configMaps, aConfigMap(name))).json().metadata?.resourceVersion ?? '');
  return {...env, versions, last: versions[1]!};
};
