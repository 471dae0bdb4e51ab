// The eighth stage of an agent: its listening ports.

import type {SecureContextOptions} from 'node:tls';
import type {NodeAgent} from '#src/api/node/agent.js';
import type {Undo} from '#src/base/undo.js';
import {openServingCertificate, type ServingCertificate} from '#src/platlet/certificates/serving.js';
import {openAgentPorts, type AgentPorts} from '#src/platlet/server/ports.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';

/** Opens the ports. Rejects with a one-line error if a port is not available. */
export const openPorts = async (
  parts: AgentParts,
  cluster: Cluster,
  agent: NodeAgent,
  undo: Undo,
  signal: AbortSignal,
): Promise<AgentPorts> => {
  const {identity, settings, gate, naming, clock, random, log, metrics} = parts;
  const {authenticators, anonymous, authorizer, tls, routes, debugging} = parts.serving;
  const issued = await certificateOf(parts, cluster, signal);
  const ports = await openAgentPorts({
    agent,
    nodeName: identity.nodeName,
    settings,
    gate,
    authenticators,
    anonymous,
    authorizer,
    tls: {...tls, ...issued?.contextOptions},
    routes,
    debugging,
    metrics,
    naming,
    clock,
    random,
    log,
    signal,
  });
  undo.defer(() => ports[Symbol.asyncDispose]());
  issued?.follow(options => ports.setSecureContext({...(tls as SecureContextOptions), ...options}));
  return ports;
};

/** The serving certificate, if the API server issues it, for the addresses that the Node shows. */
const certificateOf = async (
  {serving: {servingStore: store}, gate, clients, identity, naming, clock, random, log, meter}: AgentParts,
  {registered}: Cluster,
  signal: AbortSignal,
): Promise<ServingCertificate | undefined> =>
  store &&
  openServingCertificate({
    store,
    naming,
    clock,
    random,
    log,
    meter,
    client: clients.main,
    nodeName: identity.nodeName,
    addresses: () => registered()?.status?.addresses ?? [],
    allowsNamesAlone: gate('AllowDNSOnlyNodeCSR'),
    signal,
  });
