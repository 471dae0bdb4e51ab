import {kind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import {badRequest, notFound, serviceUnavailable, StatusError} from '#src/api/status.js';
import type {KubeObject, Node} from '#src/api/types.js';
import type {Connection, Passage} from '#src/resources/definition.js';
import {isAddress} from '#src/resources/validation/values.js';
import {everyContainer} from './containers.js';

const optionsKind = (name: string) => kind<KubeObject>('', 'v1', name, name.toLowerCase(), true);

/** An error of something behind the server, which comes without a reason. */
const failure = (message: string): StatusError => new StatusError({kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, code: 500});

const podOf = async ({reader, namespace}: Connection, name: string): Promise<Readonly<Pod>> => {
  const pod = await reader.get(kinds.pods, namespace, name);
  if (!pod) throw notFound({group: '', resource: 'pods'}, name);
  return pod;
};

/** The container that is meant: the one that is named, or the only one. */
const containerOf = ({metadata, spec}: Readonly<Pod>, wanted: string | null): string => {
  const names = [...everyContainer(spec!)].map(({container}) => container.name);
  if (wanted) {
    if (names.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${metadata?.name}`);
  }
  if (spec!.containers.length === 1) return spec!.containers[0]!.name;
  throw badRequest(`a container name must be specified for pod ${metadata?.name}, choose one of: [${names.join(' ')}]`);
};

const preferred = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'];
const agentPort = 10250;

const hostOf = ({status}: Readonly<Node>): string | undefined => {
  for (const wanted of preferred) {
    const found = status?.addresses?.find(({type}) => type === wanted);
    if (found) return found.address;
  }
  return undefined;
};

/** Where a node's agent listens. */
const agentOf = async ({reader}: Connection, name: string): Promise<string> => {
  const node = await reader.get(kinds.nodes, '', name);
  if (!node) throw notFound({group: '', resource: 'nodes'}, name);
  const host = hostOf(node);
  if (!host) throw failure('no preferred addresses found; known addresses: []');
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port || agentPort;
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
};

const refused = (address: string): string => `dial tcp ${address}: connect: connection refused`;

/** Streams to and from a container, or to ports of the pod: the server's part ends at the node, which cannot be reached. */
const stream = (name: string, ofContainer: boolean): Passage => ({
  kind: optionsKind(name),
  verbs: ['create', 'get'],
  async connect(connection) {
    const pod = await podOf(connection, connection.name);
    if (ofContainer) containerOf(pod, connection.query.get('container'));
    if (!pod.spec?.nodeName) throw badRequest(`pod ${connection.name} does not have a host assigned`);
    const agent = await agentOf(connection, pod.spec.nodeName);
    if (!connection.upgrades) throw badRequest('Upgrade request required');
    throw failure(`error dialing backend: ${refused(agent)}`);
  },
});

const log: Passage = {
  kind: kinds.pods,
  verbs: ['get'],
  async connect(connection) {
    const pod = await podOf(connection, connection.name);
    const container = containerOf(pod, connection.query.get('container'));
    if (!pod.spec?.nodeName) return;
    const agent = await agentOf(connection, pod.spec.nodeName);
    throw failure(`Get "https://${agent}/containerLogs/${connection.namespace}/${connection.name}/${container}": ${refused(agent)}`);
  },
};

/** `[scheme:]name[:port]` as its parts. */
const proxied = (id: string): {readonly name: string; readonly port: string} => {
  const parts = id.split(':');
  const [scheme, name, port] = parts.length === 3 ? parts : ['', parts[0]!, parts[1] ?? ''];
  if (parts.length > 3 || !name || (scheme && scheme !== 'http' && scheme !== 'https')) throw badRequest(`invalid pod request ${JSON.stringify(id)}`);
  return {name, port: port!};
};

/** Addresses that lead back to this machine or its link are no pod's. */
const isReachable = (ip: string): boolean => isAddress(ip) && !/^(127\.|0\.|169\.254\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|::1?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:)/i.test(ip);

const proxy: Passage = {
  kind: optionsKind('PodProxyOptions'),
  verbs: ['create', 'delete', 'get', 'patch', 'update'],
  async connect(connection) {
    const {name, port} = proxied(connection.name);
    const pod = await podOf(connection, name);
    const ip = pod.status?.podIPs?.[0]?.ip ?? '';
    if (!isReachable(ip)) throw badRequest('address not allowed');
    const first = pod.spec?.containers.find(({ports}) => ports?.length)?.ports?.[0]?.containerPort;
    const host = ip.includes(':') ? `[${ip}]` : ip;
    throw serviceUnavailable(`error trying to reach service: ${refused(`${host}:${port || (first ?? 80)}`)}`);
  },
};

/** What of a pod is not this server's to answer. */
export const podPassages: Readonly<Record<string, Passage>> = {
  attach: stream('PodAttachOptions', true),
  exec: stream('PodExecOptions', true),
  log,
  portforward: stream('PodPortForwardOptions', false),
  proxy,
};
