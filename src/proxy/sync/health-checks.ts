// What load balancers are told about the endpoints on the node.

import {keyText} from '#src/api/key.js';
import type {HealthChecks} from '#src/proxy/mode/hooks.js';
import type {Endpoint} from '#src/proxy/state/endpoint.js';
import type {ServicePort} from '#src/proxy/state/service-port.js';

/**
 * Returns the health checks of all services. Endpoints on the node that terminate do not count, as they shall get no
 * more traffic.
 */
export const healthChecks = (
  services: ReadonlyMap<string, ServicePort>,
  endpoints: ReadonlyMap<string, readonly Endpoint[]>,
): HealthChecks => {
  const ports = new Map<string, number>();
  const addresses = new Map<string, Set<string>>();
  for (const [key, {name, healthCheckNodePort}] of services) {
    if (healthCheckNodePort === 0) continue;
    const service = keyText(name);
    ports.set(service, healthCheckNodePort);
    // An address with several ports is one endpoint.
    const known = addresses.get(service) ?? new Set();
    addresses.set(service, known);
    for (const {ip, isLocal, isReady} of endpoints.get(key) ?? []) if (isLocal && isReady) known.add(ip);
  }
  const localEndpoints = [...addresses].flatMap(([service, {size}]): [string, number][] => (size > 0 ? [[service, size]] : []));
  return {ports, localEndpoints: new Map(localEndpoints)};
};
