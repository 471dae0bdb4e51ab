import {platletFlags} from '#src/options/programs/platlet.js';
import {runProgram} from '#src/program/program.js';
import type {AgentFlags, Configured} from './configuration.js';

/** Runs the program of an agent. */
export const startPlatlet = (argv: readonly string[]): Promise<void> =>
  runProgram<AgentFlags, Configured>(
    platletFlags,
    argv,
    async invocation => (await import('./run.js')).runPlatlet(invocation),
    async parsed => (await import('./configuration.js')).configured(parsed),
  );
