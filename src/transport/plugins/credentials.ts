import type {Clock} from '#src/base/clock.js';
import {oneLine} from '#src/transport/one-line.js';
import type {CredentialSource, RequestCredentials} from '#src/transport/request-credentials.js';
import type {ExecPlugin, OidcProvider} from '#src/transport/settings.js';
import type {PluginResult, ExecEnvironment} from './exec.js';

interface Options {
  readonly clock: Clock;
  readonly source: string;
  readonly always: RequestCredentials['headers'];
  readonly environment?: ExecEnvironment;
}

/** The credentials from a plugin: cached until they expire or the server rejects them. */
export const pluginCredentials = (
  plugin: ExecPlugin | OidcProvider,
  {clock, source, always, environment = {env: process.env, isTerminal: process.stdin.isTTY}}: Options,
): CredentialSource => {
  let requestCredentials: ((now: number, refused: boolean) => Promise<PluginResult>) | undefined;
  let known: Promise<PluginResult> | undefined;
  let isRefused = false;
  const request = async (): Promise<PluginResult> => {
    try {
      requestCredentials ??= await requesterOf(plugin, environment, clock);
      const {proof, ...rest} = await requestCredentials(clock.now(), isRefused);
      isRefused = false;
      return {proof: {...proof, headers: [...proof.headers, ...always]}, ...rest};
    } catch (cause) {
      known = undefined;
      throw new Error(`${source}: getting credentials: ${oneLine(cause)}`, {cause});
    }
  };
  return {
    async proof() {
      const requested = known;
      const response = requested && (await requested);
      if (response && (response.expiresAt === undefined || clock.now() < response.expiresAt)) return response.proof;
      if (known === requested) known = undefined;
      return (await (known ??= request())).proof;
    },
    reset() {
      known = undefined;
      isRefused = true;
    },
  };
};

/** Loaded on demand: most settings use no plugin. */
const requesterOf = async (
  plugin: ExecPlugin | OidcProvider,
  environment: ExecEnvironment,
  clock: Clock,
): Promise<(now: number, refused: boolean) => Promise<PluginResult>> => {
  if (plugin.kind === 'oidc') return (await import('./oidc.js')).oidcUser(plugin, clock);
  const {runExecPlugin} = await import('./exec.js');
  return () => runExecPlugin(plugin, environment);
};
