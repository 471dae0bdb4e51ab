// The configuration of the agent's program: its command line, laid over the configuration file.

import {naming as namingOf, type Naming} from '#src/api/naming.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {readGates} from '#src/options/feature-gates.js';
import {gateOf} from '#src/options/parsed-options.js';
import {checkFlagGates, type Parsed} from '#src/options/parse.js';
import {platletFlags} from '#src/options/programs/platlet.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {loadSettings} from '#src/platlet/config/load.js';
import {loggingError} from '#src/platlet/config/logging.js';
import type {Invocation} from '#src/program/program.js';

/** The table of the flags. */
export type AgentFlags = (typeof platletFlags)['rows'];

/**
 * A command line with the configuration in effect; its gates and its options of logging are those of the configuration.
 */
export interface Configured extends Parsed<AgentFlags> {
  readonly settings: Settings;
  /** The naming where the API server's is not known: that of the flag, or of the configuration file. */
  readonly naming: Naming;
}

/** The context of the running agent. */
export type AgentInvocation = Invocation<AgentFlags, Configured>;

/** Returns the namings that the files of a command line may be in. */
export const namingsOf = ({options}: Parsed<AgentFlags>): readonly Naming[] =>
  (options.naming === 'auto' ? (['plat', 'kubernetes'] as const) : [options.naming]).map(namingOf);

/** Reads the configuration file of a command line. Rejects with an error of one line. */
export const configured = async (parsed: Parsed<AgentFlags>): Promise<Configured> => {
  const {options, set, versions} = parsed;
  const {settings, naming, withoutEffect} = await loadSettings({options, set, namings: namingsOf(parsed), files: systemFiles});
  const release = gatesOf(settings, versions);
  const gate = gateOf(release);
  checkFlagGates(platletFlags, set, release.gates);
  const error = loggingError(settings, gate);
  if (error) throw new Error(`initialize logging: ${error}`);
  const warning = `Fields of the configuration file have no effect: ${withoutEffect.join(', ')}`;
  return {
    ...parsed,
    settings,
    naming: naming ?? namingsOf(parsed)[0]!,
    gates: release.gates,
    // The warnings about gates of the command line are among those about all gates.
    warnings: [...new Set([...parsed.warnings, ...release.warnings]), ...(withoutEffect.length > 0 ? [warning] : [])],
    options: {...options, ...loggingOptions(settings)},
  };
};

const gatesOf = ({featureGates}: Settings, versions: Parsed<AgentFlags>['versions']): ReturnType<typeof readGates> => {
  try {
    return readGates(new Map(Object.entries(featureGates).map(([gate, on]) => [gate, String(on)])), versions);
  } catch (cause) {
    throw new Error(`failed to set feature gates from initial flags-based config: ${messageOf(cause)}`, {cause});
  }
};

type LoggingOptions = Pick<
  Parsed<AgentFlags>['options'],
  'v' | 'vmodule' | 'loggingFormat' | 'logFlushFrequency' | 'logTextSplitStream' | 'logTextInfoBufferSize'
> & {readonly logJsonSplitStream: boolean; readonly logJsonInfoBufferSize: number};

const loggingOptions = (settings: Settings): LoggingOptions => ({
  v: settings['logging.verbosity'],
  vmodule: settings['logging.vmodule'].map(({filePattern, verbosity}) => `${String(filePattern)}=${String(verbosity)}`),
  loggingFormat: settings['logging.format'] as LoggingOptions['loggingFormat'],
  logFlushFrequency: settings['logging.flushFrequency'],
  logTextSplitStream: settings['logging.options.text.splitStream'],
  logTextInfoBufferSize: quantityNumber(parseQuantity(settings['logging.options.text.infoBufferSize'])),
  logJsonSplitStream: settings['logging.options.json.splitStream'],
  logJsonInfoBufferSize: quantityNumber(parseQuantity(settings['logging.options.json.infoBufferSize'])),
});
