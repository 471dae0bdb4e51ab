// The configuration of the proxy's program: that of its file, or of its command line.

import {readFile} from 'node:fs/promises';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import {readGates} from '#src/options/feature-gates.js';
import {gateOf} from '#src/options/parsed-options.js';
import {checkFlagGates, type Parsed} from '#src/options/parse.js';
import {proxyFlags} from '#src/options/programs/proxy.js';
import type {Invocation} from '#src/program/program.js';
import type {Settings} from '#src/proxy/configuration/fields.js';
import {loadSettings} from '#src/proxy/configuration/settings.js';
import {configurationError, loggingError} from '#src/proxy/configuration/validate.js';

/** The table of the flags. */
export type ProxyFlags = (typeof proxyFlags)['rows'];

/**
 * A command line with the configuration in effect; its gates and its options of logging are those of the configuration.
 */
export interface Configured extends Parsed<ProxyFlags> {
  readonly settings: Settings;
  /** The naming where the API server's is not known: that of the flag, or of the configuration file. */
  readonly naming: Naming;
}

/** The context of the running proxy. */
export type ProxyInvocation = Invocation<ProxyFlags, Configured>;

/** The error of Go for a file that cannot be read. */
const openError = (path: string, cause: unknown): Error => {
  const {code} = cause as NodeJS.ErrnoException;
  return new Error(`open ${path}: ${code === 'ENOENT' ? 'no such file or directory' : messageOf(cause)}`, {cause});
};

const read = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw openError(path, error);
  });

/** Reads the configuration of a command line. Rejects with an error of one line. */
export const configured = async (parsed: Parsed<ProxyFlags>): Promise<Configured> => {
  const {options, set, versions} = parsed;
  const namings = (options.naming === 'auto' ? (['plat', 'kubernetes'] as const) : [options.naming]).map(namingOf);
  const {settings, naming = namings[0]!, warnings} = await loadSettings({options, set, namings, read});
  const release = gatesOf(settings, versions);
  const gate = gateOf(release);
  checkFlagGates(proxyFlags, set, release.gates);
  const logging = loggingError(settings, gate);
  if (logging !== undefined) throw new Error(`initialize logging: ${logging}`);
  const error = configurationError(settings, naming);
  if (error !== undefined) throw new Error(`failed validate: ${error}`);
  return {
    ...parsed,
    settings,
    naming,
    gates: release.gates,
    warnings: [...new Set([...parsed.warnings, ...release.warnings, ...warnings])],
    options: {...options, ...optionsOf(settings)},
  };
};

const gatesOf = ({featureGates}: Settings, versions: Parsed<ProxyFlags>['versions']): ReturnType<typeof readGates> => {
  try {
    return readGates(new Map(Object.entries(featureGates).map(([gate, on]) => [gate, String(on)])), versions);
  } catch (cause) {
    throw new Error(`failed complete: ${messageOf(cause)}`, {cause});
  }
};

type Options = Parsed<ProxyFlags>['options'];

/** The options of the configuration that every program has. */
const optionsOf = (settings: Settings): Partial<Options> => ({
  v: settings['logging.verbosity'],
  vmodule: settings['logging.vmodule'].map(({filePattern, verbosity}) => `${filePattern}=${verbosity}`),
  loggingFormat: settings['logging.format'] as Options['loggingFormat'],
  logFlushFrequency: settings['logging.flushFrequency'],
  logTextSplitStream: settings['logging.options.text.splitStream'],
  logTextInfoBufferSize: quantityNumber(parseQuantity(settings['logging.options.text.infoBufferSize'])),
  logJsonSplitStream: settings['logging.options.json.splitStream'],
  logJsonInfoBufferSize: quantityNumber(parseQuantity(settings['logging.options.json.infoBufferSize'])),
  platconfig: settings['clientConnection.kubeconfig'],
  platApiContentType: settings['clientConnection.contentType'] as Options['platApiContentType'],
  platApiQps: settings['clientConnection.qps'],
  platApiBurst: settings['clientConnection.burst'],
});
