// The connection of an agent to its API server, which may not be there yet: one of the node's static pods may be that
// server.

import type {NamingName} from '#src/api/naming.js';
import {sleep} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Meter} from '#src/base/meter.js';
import {systemRandom as random} from '#src/base/random.js';
import {NamingMismatch} from '#src/client/detect-naming.js';
import {openConnection, type ServerConnection} from '#src/cli/program/connection.js';
import {gateOf} from '#src/options/parsed-options.js';
import {openIdentity, type OpenedIdentity} from '#src/platlet/certificates/identity.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import type {AgentInvocation} from './configuration.js';

export interface Joining {
  readonly given: AgentInvocation;
  readonly settings: Settings;
  readonly meter: Meter;
  readonly nodeName: string;
  readonly signal: AbortSignal;
}

/** How often it is looked whether the server has come, and has the naming that was assumed. */
const lookMs = 10_000;

/** Connects to the API server as the user of the node, which may need a certificate first. */
export const joinCluster = async (joining: Joining): Promise<OpenedIdentity<ServerConnection>> => {
  const {given, settings, signal} = joining;
  const {parsed, clock, log} = given;
  const {options, naming: assumed} = parsed;
  let differ: (error: Error) => void = () => {};
  const differs = new Promise<never>((_, reject) => (differ = reject));
  const identity = await openIdentity({
    ...joining,
    settingsFile: options.platconfig,
    bootstrapFile: options.bootstrapKubeconfig,
    folder: options.certDir,
    rotates: settings.rotateCertificates,
    async open(target, naming) {
      if (naming) return connectionTo(joining, target, {naming: naming.name, assumesNaming: true});
      if (options.naming !== 'auto') return connectionTo(joining, target, {naming: options.naming});
      try {
        return await connectionTo(joining, target, {naming: 'auto', patienceMs: 0});
      } catch (error) {
        signal.throwIfAborted();
        log.warn({naming: assumed.name, err: error}, 'the API server does not say its naming, which is taken from the configuration');
        checkLater(joining, target).catch(differ);
        return connectionTo(joining, target, {naming: assumed.name, assumesNaming: true});
      }
    },
    files: systemFiles,
    host: systemHost,
    clock,
    random,
    log,
  });
  const lost = Promise.race([identity.lost, differs]);
  lost.catch(() => {}); // It may come before anything waits for it.
  return {
    connection: identity.connection,
    lost,
    [Symbol.asyncDispose]: () => identity[Symbol.asyncDispose](),
  };
};

/**
 * Waits until the server says its naming. Rejects if it is another than was assumed: then the agent has to begin anew.
 */
const checkLater = async (joining: Joining, target: ConnectionSettings): Promise<void> => {
  const {given, signal} = joining;
  const {parsed, clock, log} = given;
  for (;;) {
    try {
      await sleep(clock, lookMs, signal);
      const connection = await connectionTo(joining, target, {naming: 'auto', patienceMs: 0});
      await connection[Symbol.asyncDispose]();
      if (connection.naming.name !== parsed.naming.name) throw new NamingMismatch(parsed.naming, connection.naming);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof NamingMismatch) throw error;
      log.v(2).info({err: error}, 'the API server does not say its naming yet');
    }
  }
};

interface NamingChoice {
  readonly naming: NamingName | 'auto';
  readonly assumesNaming?: boolean;
  readonly patienceMs?: number;
}

const connectionTo = (
  {given: {parsed, version, clock, log, stopping}, settings, meter}: Joining,
  target: ConnectionSettings,
  {naming, ...choice}: NamingChoice,
): Promise<ServerConnection> =>
  openConnection({
    ...choice,
    settings: target,
    program: 'platlet',
    options: {
      ...parsed.options,
      naming,
      master: '',
      platApiQps: settings.kubeAPIQPS,
      platApiBurst: settings.kubeAPIBurst,
      platApiContentType: settings.contentType,
    },
    version,
    clock,
    meter,
    log,
    env: {},
    signal: stopping,
    gate: gateOf(parsed),
  });
