import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {notFound, serviceUnavailable} from '#src/api/status.js';
import type {ConnectContext, ConnectSubresource} from '#src/resources/definition.js';
import {proxySubresource, isAllowedDestination, parseProxyTarget} from '#src/resources/core/connect/proxy.js';

type Address = NonNullable<NonNullable<ObjectOf<typeof kinds.endpoints>['subsets']>[number]['addresses']>[number];

/** Returns the name of a service's port with that number. */
const nameOfPort = async ({reader, namespace}: ConnectContext, service: string, port: number): Promise<string> => {
  const found = await reader.get(kinds.services, namespace, service);
  if (!found) throw notFound({group: '', resource: 'services'}, service);
  const named = found.spec?.ports?.find(one => one.port === port);
  if (!named) throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(service)}`);
  return named.name ?? '';
};

/**
 * Reports whether an address belongs to a pod of the namespace and not to this machine. Otherwise a writer of endpoints
 * or pod status could send the server's calls anywhere.
 */
const isOfPod = async ({reader, namespace}: ConnectContext, {ip, targetRef}: Address): Promise<boolean> => {
  if (!targetRef?.name || targetRef.namespace !== namespace || !isAllowedDestination(ip)) return false;
  const pod = await reader.get(kinds.pods, namespace, targetRef.name);
  return pod?.status?.podIPs?.some(own => own.ip === ip) ?? false;
};

/** The limit of addresses checked in a subset: each takes a read of a pod. */
const maxTried = 1000;

/** Returns the list rotated by a random offset. */
const rotated = <T>(list: readonly T[], {random}: ConnectContext): T[] => {
  const start = Math.floor(random.float() * list.length);
  return [...list.slice(start), ...list.slice(0, start)];
};

/** The connect subresources of services, answered by their endpoints. */
export const serviceConnectSubresources: Readonly<Record<string, ConnectSubresource>> = {
  proxy: proxySubresource('ServiceProxyOptions', true, async connection => {
    const {scheme, name, port} = parseProxyTarget('service', connection.name);
    const portName = /^\d+$/.test(port) ? await nameOfPort(connection, name, Number(port)) : port;
    const endpoints = await connection.reader.get(kinds.endpoints, connection.namespace, name);
    if (!endpoints) throw notFound({group: '', resource: 'services'}, name);
    const {subsets = []} = endpoints;
    if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    for (const {addresses = [], ports = []} of rotated(subsets, connection)) {
      const found = ports.find(one => (one.name ?? '') === portName);
      for (const address of found ? rotated(addresses, connection).slice(0, maxTried) : []) {
        if (await isOfPod(connection, address))
          return {scheme: scheme || 'http', host: address.ip, port: String(found!.port), path: '', agent: false};
      }
    }
    throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(connection.name)}`);
  }),
};
