// Environment variables for Services.

import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';

export type Service = ObjectOf<typeof kinds.services>;

const variableName = (name: string): string => name.toUpperCase().replaceAll('-', '_');

const hostPort = (host: string, port: number): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`);

/** Whether a Service has a cluster IP. */
const hasAddress = ({spec}: Frozen<Service>): boolean => Boolean(spec?.clusterIP) && spec?.clusterIP !== 'None';

/**
 * Returns the Services that the containers of a pod get variables for: those of its namespace if service links are
 * enabled, and always that of the API server.
 */
export const linkedServices = (
  services: readonly Frozen<Service>[],
  {namespace, wantsLinks, self}: {readonly namespace: string; readonly wantsLinks: boolean; readonly self: string},
): Frozen<Service>[] => {
  const linked = new Map<string, Frozen<Service>>();
  for (const service of services.filter(hasAddress)) {
    const {name = '', namespace: home} = service.metadata ?? {};
    const isSelf = home === 'default' && name === self;
    // A Service of the pod's own namespace takes precedence.
    if (isSelf ? !linked.has(name) : home === namespace && wantsLinks) linked.set(name, service);
  }
  return [...linked.values()];
};

/** Returns the variables for Services, by name. */
export const serviceVariables = (services: readonly Frozen<Service>[]): ReadonlyMap<string, string> => {
  const variables = new Map<string, string>();
  for (const {metadata, spec} of services) {
    const name = variableName(metadata?.name ?? '');
    const {clusterIP = '', ports = []} = spec ?? {};
    variables.set(`${name}_SERVICE_HOST`, clusterIP);
    for (const [index, {port, name: portName, protocol = 'TCP'}] of ports.entries()) {
      if (index === 0) variables.set(`${name}_SERVICE_PORT`, String(port));
      if (portName) variables.set(`${name}_SERVICE_PORT_${variableName(portName)}`, String(port));
      const url = `${protocol.toLowerCase()}://${hostPort(clusterIP, port)}`;
      const prefix = `${name}_PORT_${port}_${protocol.toUpperCase()}`;
      if (index === 0) variables.set(`${name}_PORT`, url);
      variables.set(prefix, url);
      variables.set(`${prefix}_PROTO`, protocol.toLowerCase());
      variables.set(`${prefix}_PORT`, String(port));
      variables.set(`${prefix}_ADDR`, clusterIP);
    }
  }
  return variables;
};
