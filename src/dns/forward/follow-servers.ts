import {runEvery, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {parseServer, serversOfFile, serverText, type ServerAddress} from './servers.js';

/** How often the files are looked at: a machine's resolvers change when it joins another network. */
const periodMs = 10_000;

export interface FollowedServers {
  /** Addresses, with or without a port, and `resolv.conf` files, in order. */
  readonly forward: readonly string[];
  readonly files: Pick<Files, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Called with the resolvers at first, and when they have changed. */
  use(servers: readonly ServerAddress[]): void;
}

/** Finds the resolvers to forward to, and follows the files that name them. Rejects if one cannot be read at first. */
export const followServers = async ({forward, files, clock, log, signal, use}: FollowedServers): Promise<void> => {
  const read = async (entry: string): Promise<readonly ServerAddress[]> => {
    const server = parseServer(entry);
    if (server) return [server];
    const content = await files.read(entry);
    if (content === undefined) throw new Error(`${entry}: neither the address of a resolver nor a file`);
    return serversOfFile(content.toString());
  };
  const all = async () => (await Promise.all(forward.map(read))).flat();
  let used = '';
  const apply = (servers: readonly ServerAddress[]) => {
    const text = servers.map(serverText).join(' ');
    if (text === used) return;
    used = text;
    log.info({servers: text}, 'queries for other domains are forwarded');
    use(servers);
  };
  apply(await all());
  if (used === '') log.warn('there is no resolver to forward to: queries for other domains are refused');
  if (forward.every(entry => parseServer(entry))) return;
  runEvery(clock, periodMs, signal, async () => {
    try {
      apply(await all());
    } catch (error) {
      log.warn({reason: messageOf(error)}, 'the file of resolvers cannot be read; the last ones stay');
    }
  });
};
