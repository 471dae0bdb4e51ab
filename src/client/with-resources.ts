import type {Client} from './client.js';

/** Returns a client whose verbs of kinds are others; all else is that of `client`. */
export const withResources = (client: Client, own: Pick<Client, 'resource'> & Partial<Pick<Client, 'metadata' | 'request'>>): Client => ({
  naming: client.naming,
  watchList: client.watchList,
  isProbed: client.isProbed,
  metadata: kind => client.metadata(kind),
  request: (...call) => client.request(...call),
  ...own,
});
