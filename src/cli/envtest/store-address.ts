import {get} from 'node:http';
import {json} from 'node:stream/consumers';

/**
 * What the stand-in of the store says at `/plat/store`, so that the API server keeps its objects in the data directory
 * of the stand-in.
 */
export interface StandIn {
  readonly dataDir: string;
}

/** The path at which a stand-in describes itself. */
export const standInPath = '/plat/store';

/** How long the store at an address may take to answer, in ms. */
const timeout = 2_000;

/** Returns the stand-in at the first of the addresses; undefined if it is a real store, or is not reached. */
export const standInAt = (addresses: string): Promise<StandIn | undefined> => {
  const [address = ''] = addresses.split(',');
  if (!address.startsWith('http://')) return Promise.resolve(undefined);
  return new Promise(resolve => {
    const none = () => resolve(undefined);
    const request = get(new URL(standInPath, address), {timeout}, response => {
      if (response.statusCode !== 200) return none();
      json(response).then(page => resolve(page as StandIn), none);
    });
    request.on('error', none).on('timeout', () => request.destroy());
  });
};
