// The first stage of an API server: opens and follows what the options name.

import {systemFiles} from '#src/base/files/files.js';
import {Loopback} from '#src/apiserver/loopback.js';
import {inProcessClient} from '#src/client/in-process.js';
import type {UserInfo} from '#src/api/user.js';
import {openEgress} from '#src/plane/outgoing/egress.js';
import {proxyClient} from '#src/plane/outgoing/proxy-client.js';
import {systemNetwork} from '#src/transport/network.js';
import {readAdmission} from './admission.js';
import {followAgentTrust} from './agent-trust.js';
import {anonymousOf, authenticatorsOf} from './authentication/authentication.js';
import {configuredJwt} from './authentication/configured-jwt.js';
import {openSigner} from './authentication/service-account-tokens.js';
import {openTokenWebhook} from './authentication/token-authenticators.js';
import {createAuthorizers} from './authorization.js';
import {ServerHealth} from './health.js';
import {serverUser, type ApiServerParts} from './parts.js';

/**
 * Returns what the options name (authenticators, authorizers, admission's configuration, outgoing connections), and
 * clients of the server itself, which work once the handler is attached to `loopback`. Rejects with an error of one
 * line that names the flag of an unusable file.
 */
export const readSettings = async (parts: ApiServerParts, signal: AbortSignal) => {
  const {options, naming, clock, random, log, store, gate, metrics: meter} = parts;
  const health = new ServerHealth({
    clock,
    log,
    naming,
    store,
    livezGraceMs: options.livezGracePeriod,
    healthTimeoutMs: options.kvstoreHealthcheckTimeout,
    readyTimeoutMs: options.kvstoreReadycheckTimeout,
  });
  const direct = parts.network ?? systemNetwork(clock);
  const egress = await openEgress({options, naming, clock, random, meter, network: direct});
  const toControlPlane = egress.network('controlplane');
  const authorizers = await createAuthorizers(options, {
    naming,
    clock,
    random,
    log,
    meter,
    files: systemFiles,
    network: toControlPlane,
    signal,
    gate,
  });
  const configured = await configuredJwt({options, naming, gate});
  if (configured?.anonymous && parts.given?.has('anonymous-auth'))
    throw new Error(
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  const authenticators = await authenticatorsOf(options, {clock, log, naming, gate, meter, files: systemFiles, signal});
  const proxy = await proxyClient({options, files: systemFiles, clock, log});
  const admission = await readAdmission(options, {naming, log, clock, random, signal});
  const agentTrust = await followAgentTrust(options, {files: systemFiles, clock, log, signal});
  const tokenWebhook = await openTokenWebhook(options, {naming, clock, random, log, network: toControlPlane});
  signal.addEventListener('abort', () => void tokenWebhook?.[Symbol.asyncDispose]());
  const signer = await openSigner(options, {clock, log, meter}, signal);
  const loopback = new Loopback();
  const clientAs = (user: UserInfo, userAgent = naming.component('apiserver')) =>
    inProcessClient(loopback.handler, {naming, user, userAgent, clock});
  return {
    health,
    authorizers,
    authenticators,
    configured,
    tokenWebhook,
    signer,
    anonymous: anonymousOf(options, log, configured?.anonymous),
    proxy,
    admission,
    agentTrust,
    egress,
    direct,
    network: egress.network('cluster'),
    loopback,
    clientAs,
    client: clientAs(serverUser),
  };
};

export type Settings = Awaited<ReturnType<typeof readSettings>>;
