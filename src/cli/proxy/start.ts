import {proxyFlags} from '#src/options/programs/proxy.js';
import {runProgram} from '#src/program/program.js';
import type {Configured, ProxyFlags} from './configuration.js';

/** Runs the program of a service proxy. */
export const startProxyProgram = (argv: readonly string[]): Promise<void> =>
  runProgram<ProxyFlags, Configured>(
    proxyFlags,
    argv,
    async invocation => (await import('./run.js')).runProxy(invocation),
    async parsed => (await import('./configuration.js')).configured(parsed),
  );
