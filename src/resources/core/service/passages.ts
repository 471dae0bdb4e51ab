import {kind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds.js';
import {badRequest, notFound, serviceUnavailable} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Passage} from '#src/resources/definition.js';

/** `[scheme:]name[:port]` as its parts. */
const proxied = (id: string): {readonly name: string; readonly port: string} => {
  const parts = id.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0]!, parts[1] ?? ''];
  if (parts.length > 3 || !name || (scheme && scheme !== 'http' && scheme !== 'https')) throw badRequest(`invalid service request ${JSON.stringify(id)}`);
  return {name, port: port!};
};

const proxy: Passage = {
  kind: kind<KubeObject>('', 'v1', 'ServiceProxyOptions', 'serviceproxyoptions', true),
  verbs: ['create', 'delete', 'get', 'patch', 'update'],
  async connect({namespace, name: id, reader}) {
    const {name, port} = proxied(id);
    let portName = port;
    if (/^\d+$/.test(port)) {
      const service = await reader.get(kinds.services, namespace, name);
      if (!service) throw notFound({group: '', resource: 'services'}, name);
      const found = service.spec?.ports?.find(one => one.port === Number(port));
      if (!found) throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
      portName = found.name ?? '';
    }
    const endpoints = await reader.get(kinds.endpoints, namespace, name);
    if (!endpoints) throw notFound({group: '', resource: 'endpoints'}, name);
    if ((endpoints.subsets ?? []).length === 0) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
    for (const {addresses = [], ports = []} of endpoints.subsets ?? []) {
      const found = ports.find(one => (one.name ?? '') === portName);
      const ip = addresses[0]?.ip;
      if (!found || !ip) continue;
      const address = `${ip.includes(':') ? `[${ip}]` : ip}:${found.port}`;
      // Nothing is dialled, so nothing is said of what a dial would meet.
      throw serviceUnavailable(`error trying to reach service: calls are not passed on to ${address}`);
    }
    throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(id)}`);
  },
};

/** What of a service is its endpoints' to answer. */
export const servicePassages: Readonly<Record<string, Passage>> = {proxy};
