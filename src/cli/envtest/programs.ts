import {join} from 'node:path';
import {standInAt} from './store-address.js';
import {takeFlag} from './arguments.js';

/** The number of simulated nodes of a test environment with controllers, unless PLAT_ENVTEST_NODES gives another. */
const defaultNodes = '1';

/**
 * Returns the arguments about the store: those given, or those of the embedded store in the directory of the stand-in.
 */
const storeArguments = async (argv: string[]): Promise<{readonly dataDir: string | undefined; readonly rest: string[]}> => {
  const servers = takeFlag(argv, 'kvstore-servers');
  if (servers === undefined) return {dataDir: undefined, rest: argv};
  const standIn = await standInAt(servers);
  return standIn ? {dataDir: standIn.dataDir, rest: argv} : {dataDir: undefined, rest: [`--kvstore-servers=${servers}`, ...argv]};
};

/** Returns the arguments of plat-apiserver, given those of the original with the names of its flags. */
export const serverArguments = async (argv: string[]): Promise<string[]> => {
  const {dataDir, rest} = await storeArguments(argv);
  return ['--naming=kubernetes', ...(dataDir === undefined ? [] : [`--data-dir=${join(dataDir, 'plat')}`]), ...rest];
};

/**
 * Returns the arguments of `plat up`, which runs the controllers, the scheduler and simulated nodes beside the API
 * server.
 */
export const planeArguments = async (argv: string[]): Promise<string[]> => {
  const {dataDir, rest} = await storeArguments(argv);
  const own = ['bind-address', 'secure-port'].flatMap(flag => {
    const value = takeFlag(rest, flag);
    return value === undefined ? [] : [`--${flag}=${value}`];
  });
  return [
    '--naming=kubernetes',
    ...(dataDir === undefined ? [] : [`--data-dir=${join(dataDir, 'plane')}`]),
    `--nodes=${process.env['PLAT_ENVTEST_NODES'] ?? defaultNodes}`,
    ...own,
    ...rest.map(argument => `--apiserver-arg=${argument}`),
  ];
};
