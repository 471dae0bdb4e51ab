import type {Clock} from '#src/base/clock.js';
import {oneLine} from '#src/transport/one-line.js';
import type {CredentialSource, Proof} from '#src/transport/proof.js';
import type {ExecPlugin, OidcProvider} from '#src/transport/settings.js';
import type {Answer, ExecEnvironment} from './exec.js';

interface Options {
  readonly clock: Clock;
  readonly source: string;
  readonly always: Proof['headers'];
  readonly environment?: ExecEnvironment;
}

/** Credentials of a user whom a plugin proves: kept until they expire or the server refuses them. */
export const pluginCredentials = (plugin: ExecPlugin | OidcProvider, {clock, source, always, environment = {env: process.env, isTerminal: process.stdin.isTTY}}: Options): CredentialSource => {
  let asking: ((now: number, refused: boolean) => Promise<Answer>) | undefined;
  let known: Promise<Answer> | undefined;
  let isRefused = false;
  const ask = async (): Promise<Answer> => {
    try {
      asking ??= await askerOf(plugin, environment);
      const {proof, ...rest} = await asking(clock.now(), isRefused);
      isRefused = false;
      return {proof: {...proof, headers: [...proof.headers, ...always]}, ...rest};
    } catch (cause) {
      known = undefined;
      throw new Error(`${source}: getting credentials: ${oneLine(cause)}`, {cause});
    }
  };
  return {
    async proof() {
      const asked = known;
      const answer = asked && (await asked);
      if (answer && (answer.expiresAt === undefined || clock.now() < answer.expiresAt)) return answer.proof;
      if (known === asked) known = undefined;
      return (await (known ??= ask())).proof;
    },
    reset() {
      known = undefined;
      isRefused = true;
    },
  };
};

/** Most settings do without this code. */
const askerOf = async (plugin: ExecPlugin | OidcProvider, environment: ExecEnvironment): Promise<(now: number, refused: boolean) => Promise<Answer>> => {
  if (plugin.kind === 'oidc') return (await import('./oidc.js')).oidcUser(plugin);
  const {runExecPlugin} = await import('./exec.js');
  return () => runExecPlugin(plugin, environment);
};
