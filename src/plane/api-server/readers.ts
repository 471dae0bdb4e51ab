// The third stage of an API server: what reads the registry (tokens, services, webhooks, admission, aggregation, other
// servers, discovery).

import {aggregate} from '#src/apiserver/aggregation/aggregation.js';
import {Registrations} from '#src/apiserver/aggregation/registrations.js';
import {ResponseBudget} from '#src/apiserver/backends/response-budget.js';
import {selfCalls} from '#src/apiserver/backends/self-calls.js';
import {isSelf, serviceResolver, type ServiceReference, type ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {webhookCaller, type WebhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import type {WebhookUsers} from '#src/apiserver/backends/webhook-users.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {conversions} from '#src/apiserver/custom/conversion.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import {Discovery} from '#src/apiserver/discovery/handler.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {lazily} from '#src/base/lazily.js';
import type {Meter} from '#src/base/meter.js';
import {dialer} from '#src/transport/dial.js';
import {connections} from '#src/transport/http1/connections.js';
import {externalAddress} from './addresses.js';
import {admissionPlugins} from './admission.js';
import {identityHeadersOf} from './authentication/authentication.js';
import {serviceAccountTokens} from './authentication/service-account-tokens.js';
import {tokenAuthenticators} from './authentication/token-authenticators.js';
import {hostOf, serverUser, type ApiServerParts} from './parts.js';
import {serverPeers} from './peers.js';
import type {Settings} from './settings.js';

/** The limit of the responses of all webhooks at a time, with its metrics. */
const observedBudget = (meter: Meter): ResponseBudget => {
  const budget = new ResponseBudget();
  budget.observe(meter);
  return budget;
};

/** Returns the maker of callers of webhooks, which use the credentials of `users`. Callers close at the signal. */
const webhookCallers = (
  {naming, clock, log, metrics}: ApiServerParts,
  {egress, proxy, loopback}: Settings,
  resolve: ServiceResolver,
  signal: AbortSignal,
) => {
  const budget = observedBudget(metrics);
  const self = {calls: selfCalls(loopback.handler, serverUser, clock), is: (reference: ServiceReference) => isSelf(reference, naming)};
  return (users: WebhookUsers | undefined): WebhookCaller => {
    const caller = webhookCaller({
      clock,
      log,
      dial: egress.dial('cluster'),
      resolve,
      userAgent: naming.component('apiserver-admission'),
      budget,
      users,
      clientPair: () => proxy.pair,
      self,
    });
    signal.addEventListener('abort', () => caller.close(), {once: true});
    return caller;
  };
};

/** Creates what reads the registry. Work in the background, and connections, end with the signal. */
export const readersOf = (parts: ApiServerParts, settings: Settings, registry: Registry, signal: AbortSignal) => {
  const {options, naming, clock, random, log, serverAddress, gate, metrics: meter} = parts;
  const {authorizers, proxy, admission: configuration, network, client, signer, configured} = settings;
  const reader = registryReader(registry);
  const address = parts.podAddress ?? externalAddress(options, serverAddress);
  const tokens = serviceAccountTokens({options, naming, clock, log, meter, reader, client, serverAddress: address, signer});
  const otherTokens = tokenAuthenticators({
    options,
    configured,
    webhook: settings.tokenWebhook,
    audiences: tokens.audiences,
    naming,
    reader,
    clock,
    random,
    log,
    meter,
    egress: settings.egress,
    gate,
    signal,
  });
  const resolve = serviceResolver({reader, random, naming, toEndpoints: options.enableAggregatorRouting, serverAddress});
  const callerAs = webhookCallers(parts, settings, resolve, signal);
  const admission = admissionPlugins(options, {
    configuration,
    meter,
    signal,
    callerAs,
    registry,
    naming,
    clock,
    random,
    authorizers,
    log,
    minor: Number(parts.version.emulationMinor),
    client,
    gate,
  });
  const converting = lazily(() => ({naming, clock, random, caller: callerAs(undefined), metrics: conversionMetrics(meter, clock)}));
  const conversion = conversions(definition => webhookConversion(definition, converting()));
  const toBackends = connections({dial: dialer(network, clock), clock, log, identityHeaders: identityHeadersOf(options)});
  const registrations = new Registrations(() => proxy.pair);
  const aggregation = aggregate({
    naming,
    registrations,
    backends: toBackends,
    resolve,
    log,
    refusesRedirects: options.aggregatorRejectForwardingRedirect,
    gate,
  });
  const peers = serverPeers({
    ...parts,
    meter,
    registry,
    registrations,
    backends: toBackends,
    proxy,
    host: hostOf(parts),
    signal,
  });
  const discovery = new Discovery(registry, address, {aggregation, peers: peers?.catalog});
  return {tokens, otherTokens, admission, conversion, backends: toBackends, registrations, aggregation, discovery, peers};
};

export type Readers = ReturnType<typeof readersOf>;
