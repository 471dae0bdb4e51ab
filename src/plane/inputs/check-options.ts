import {isIP} from 'node:net';
import {closest} from '#src/base/text/closest.js';
import {validateSelection} from '#src/options/controller-names.js';
import {recordBytes} from '#src/options/shared/record.js';
import type {PlaneOptions} from './options.js';

/** An invalid option. The message is one line and names the option. */
export class PlaneOptionError extends TypeError {
  override readonly name = 'PlaneOptionError';

  constructor(message: string) {
    super(`startPlane: ${message}`);
  }
}

/** Returns the error of a value, as it reads after the option's name; undefined for a valid one. */
type Check = (value: unknown) => string | undefined;

const shown = (value: unknown): string => {
  if (typeof value === 'function') return 'a function';
  return (
    (typeof value === 'object' && value !== null
      ? JSON.stringify(value)?.slice(0, 60)
      : typeof value === 'string'
        ? JSON.stringify(value)
        : undefined) ?? String(value)
  );
};

const must =
  (isValid: (value: unknown) => boolean, what: string): Check =>
  value =>
    isValid(value) ? undefined : `must be ${what}, not ${shown(value)}`;
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const isWhole = (value: unknown, most: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= most;

const flag = must(value => typeof value === 'boolean', 'true or false');
const path = must(isText, 'a path');
const port = must(value => isWhole(value, 65_535), 'a port from 0 to 65535');
const flags = must(
  value => Array.isArray(value) && value.every(item => typeof item === 'string' && item.startsWith('-')),
  'a list of flags such as "--feature-gates=X=true"',
);
const having = (what: string, ...methods: string[]): Check =>
  must(value => isRecord(value) && methods.every(method => typeof value[method] === 'function'), `${what} (with ${methods.join(', ')})`);

const localWebhooks = must(
  value => isRecord(value) && Object.keys(value).join() === 'port' && isWhole(value['port'], 65_535) && value['port'] !== 0,
  '{port: N} with a port from 1 to 65535',
);

/** The checks of all options. */
const checks: {readonly [K in keyof Required<PlaneOptions>]: Check} = {
  naming: must(value => value === 'plat' || value === 'kubernetes', '"kubernetes" or "plat"'),
  dataDir: path,
  listen: flag,
  bindAddress: must(value => typeof value === 'string' && isIP(value) !== 0, 'an IP address'),
  securePort: port,
  kubeconfig: path,
  context: must(isText, 'a name'),
  removeContextOnStop: flag,
  nodes: must(value => isWhole(value, 10_000), 'a whole number from 0 to 10000'),
  simulationFile: path,
  metricsApi: flag,
  bootstrapTokens: flag,
  podAccess: flag,
  cloudProvider: must(value => value === 'simulated', '"simulated"'),
  controllers: must(
    value => value === 'all' || value === 'none' || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    '"all", "none" or a list of names of controllers',
  ),
  apiserverArgs: flags,
  controllerManagerArgs: flags,
  schedulerArgs: flags,
  waitForCaches: flag,
  manifests: must(value => Array.isArray(value), 'a list of paths or objects'),
  webhooks: localWebhooks,
  signal: must(value => value instanceof AbortSignal, 'an AbortSignal'),
  record: must(
    value => value === false || (typeof value === 'string' && recordBytes(value) !== undefined),
    'false or a size from "1Mi" to "1Ti"',
  ),
  recordDir: path,
  clock: having('a Clock', 'now', 'monotonic', 'schedule', 'hold', 'unhandled', 'keepAlive'),
  random: having('a Random', 'float', 'uuid', 'bytes'),
  log: having('a Log', 'info', 'warn', 'error', 'v', 'child'),
  freeze: flag,
};

const names = Object.keys(checks);

/** Options of the port, which are invalid with `listen: false`. */
const ofThePort = ['bindAddress', 'securePort', 'kubeconfig'] as const;

/** Throws `PlaneOptionError` for an unknown option or an invalid value. Undefined ones count as absent. */
export const checkOptions = (options: PlaneOptions): void => {
  if (!isRecord(options)) throw new PlaneOptionError(`the options must be an object, not ${shown(options)}`);
  for (const [name, value] of Object.entries(options)) {
    if (!names.includes(name)) throw new PlaneOptionError(unknownOption(name));
    const problem = value === undefined ? undefined : checks[name as keyof PlaneOptions](value);
    if (problem !== undefined) throw new PlaneOptionError(`${name} ${problem}`);
  }
  if (options.listen === false) {
    const idle = ofThePort.find(name => options[name] !== undefined);
    if (idle) throw new PlaneOptionError(`${idle} needs a port: leave listen out, or ${idle}`);
  }
  checkControllers(options);
  if (options.simulationFile !== undefined && !options.nodes)
    throw new PlaneOptionError('simulationFile needs nodes: how many of them to simulate');
};

const checkControllers = ({controllers, controllerManagerArgs = []}: PlaneOptions): void => {
  if (controllers === undefined) return;
  if (controllerManagerArgs.some(arg => /^--controllers(=|$)/.test(arg)))
    throw new PlaneOptionError('controllers and the flag --controllers of controllerManagerArgs exclude each other');
  const problem = typeof controllers === 'string' ? undefined : validateSelection(controllers);
  if (problem !== undefined) throw new PlaneOptionError(`controllers: ${problem}`);
};

const unknownOption = (name: string): string => {
  const suggestion = closest(name, names);
  return `there is no option ${JSON.stringify(name)}: ${suggestion ? `did you mean ${JSON.stringify(suggestion)}?` : `the options are ${names.join(', ')}`}`;
};
