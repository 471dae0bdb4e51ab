// The stand-in of the store's program in test environments. It keeps the promise of a data directory and of a healthy
// address; the API server stores its objects in that directory itself.

import {createServer, type Server} from 'node:http';
import {resolve} from 'node:path';
import {makeFolder} from '#src/base/files/folder.js';
import {OptionError} from '#src/options/option-error.js';
import {standInPath, type StandIn} from './store-address.js';

/**
 * The flags that test environments pass. Those without a meaning here are accepted because objects are stored by the
 * API server.
 */
const flags: Readonly<Record<string, string>> = {
  'data-dir': 'the directory in which objects are stored',
  'listen-client-urls': 'the http addresses to listen on, separated by commas',
  'advertise-client-urls': 'accepted: clients find the store by the flags of the API server',
  'listen-peer-urls': 'accepted: there are no peers',
  name: 'accepted: there are no peers',
  'unsafe-no-fsync': 'accepted: the API server syncs what it writes, several writes at once',
};

/** Returns the text of `--help`. */
export const storeHelp = (program: string): string =>
  `Usage:\n  ${program} [flags]\n\nStands in for the store in a test environment of plat.\n\nFlags:\n${Object.entries(flags)
    .map(([flag, about]) => `  --${flag}\n        ${about}`)
    .join('\n')}\n`;

/** Returns the flags of a command line. Throws an `OptionError` for one that is not known. */
export const parseStoreFlags = (argv: readonly string[]): Readonly<Record<string, string>> => {
  const given: Record<string, string> = {};
  for (let at = 0; at < argv.length; at++) {
    const [, flag = '', value] = /^--?([\w-]+)(?:=([^]*))?$/.exec(argv[at]!) ?? [];
    if (!Object.hasOwn(flags, flag)) throw new OptionError(`flag provided but not defined: ${argv[at]}`);
    given[flag] = value ?? (argv[at + 1]?.startsWith('-') === false ? argv[++at]! : 'true');
  }
  return given;
};

const answers = (standIn: StandIn): Readonly<Record<string, unknown>> => ({
  '/health': {health: 'true', reason: ''},
  '/readyz': 'ok',
  '/livez': 'ok',
  [standInPath]: standIn,
});

/** Listens on the client addresses. Rejects for an address that is not http, or not free. */
export const serveStandIn = async (given: Readonly<Record<string, string>>, fallbackDir: string): Promise<readonly Server[]> => {
  const dataDir = resolve(given['data-dir'] ?? fallbackDir);
  makeFolder(dataDir);
  const pages = answers({dataDir});
  const servers: Server[] = [];
  for (const address of (given['listen-client-urls'] ?? 'http://127.0.0.1:2379').split(',')) {
    const {protocol, hostname, port} = new URL(address);
    if (protocol !== 'http:') throw new OptionError(`--listen-client-urls: ${address}: only http is served here`);
    const server = createServer(({url = ''}, response) => {
      const page = Object.hasOwn(pages, url) ? pages[url] : undefined;
      response.writeHead(page === undefined ? 404 : 200, {'content-type': typeof page === 'string' ? 'text/plain' : 'application/json'});
      response.end(typeof page === 'string' ? page : JSON.stringify(page ?? {message: 'not found'}));
    });
    await new Promise<void>((listening, reject) => {
      server.once('error', reject).listen(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), listening);
    });
    servers.push(server);
  }
  return servers;
};
