import {kind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {badRequest, notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {agentOf} from '#src/resources/core/connect/agent.js';
import {proxySubresource, isAllowedDestination, parseProxyTarget} from '#src/resources/core/connect/proxy.js';
import type {ConnectContext, ConnectSubresource, ConnectOption, ConnectOptions} from '#src/resources/definition.js';
import {everyContainer} from './validation/every-container.js';
import {logFields, logQuery, validateLogOptions} from './log-options.js';

const podOf = async ({reader, namespace}: ConnectContext, name: string): Promise<Readonly<Pod>> => {
  const pod = await reader.get(kinds.pods, namespace, name);
  if (!pod) throw notFound({group: '', resource: 'pods'}, name);
  return pod;
};

/** Returns the requested container, or the only one. */
const containerOf = ({metadata, spec}: Readonly<Pod>, {container: requested}: ConnectOptions): string => {
  const names = everyContainer(spec!).map(({container}) => container.name);
  if (requested) {
    if (names.includes(String(requested))) return String(requested);
    throw badRequest(`container ${String(requested)} is not valid for pod ${metadata?.name}`);
  }
  if (spec!.containers.length === 1) return spec!.containers[0]!.name;
  throw badRequest(`a container name must be specified for pod ${metadata?.name}, choose one of: [${names.join(' ')}]`);
};

/** Returns the query for the same streams at the node's agent. */
const streamQuery = ({stdin, stdout, stderr, tty, command, ports}: ConnectOptions): string => {
  const query = new URLSearchParams();
  for (const part of (command as readonly string[] | undefined) ?? []) query.append('command', part);
  for (const [name, requested] of [
    ['error', stderr],
    ['input', stdin],
    ['output', stdout],
    ['tty', tty],
  ] as const)
    if (requested) query.set(name, '1');
  if (ports) query.set('port', (ports as readonly number[]).join(','));
  return query.size > 0 ? `?${query.toString()}` : '';
};

/** Returns a subresource for streams to a container or to ports of the pod, made by the agent of its node. */
const stream = (options: string, path: string, fields: readonly ConnectOption[]): ConnectSubresource => ({
  kind: kind<KubeObject>('', 'v1', options, options.toLowerCase(), true),
  verbs: ['create', 'get'],
  mode: 'stream',
  options: {kind: options, fields},
  async locate(connection) {
    const {namespace, name} = connection;
    const pod = await podOf(connection, name);
    const container = fields.some(field => field.name === 'container') ? `/${containerOf(pod, connection.options)}` : '';
    if (!pod.spec?.nodeName) throw badRequest(`pod ${name} does not have a host assigned`);
    return {
      scheme: 'https',
      ...(await agentOf(connection, pod.spec.nodeName, 'pods')),
      path: `/${path}/${namespace}/${name}${container}${streamQuery(connection.options)}`,
      agent: true,
    };
  },
});

const log: ConnectSubresource = {
  kind: kinds.pods,
  verbs: ['get'],
  mode: 'text',
  options: {kind: 'PodLogOptions', fields: logFields},
  validate: validateLogOptions,
  async locate(connection) {
    const {namespace, name, options} = connection;
    const pod = await podOf(connection, name);
    const container = containerOf(pod, options);
    if (!pod.spec?.nodeName) return undefined;
    return {
      scheme: 'https',
      ...(await agentOf(connection, pod.spec.nodeName, 'pods')),
      path: `/containerLogs/${namespace}/${name}/${container}${logQuery(options, connection)}`,
      agent: true,
    };
  },
};

const proxy = proxySubresource('PodProxyOptions', true, async connection => {
  const {scheme, name, port} = parseProxyTarget('pod', connection.name);
  const pod = await podOf(connection, name);
  const first = pod.spec?.containers.find(({ports}) => ports?.length)?.ports?.[0]?.containerPort;
  const host = pod.status?.podIPs?.[0]?.ip ?? '';
  if (!isAllowedDestination(host)) throw badRequest('address not allowed');
  return {scheme: scheme || 'http', host, port: port || String(first ?? (scheme === 'https' ? 443 : 80)), path: '', agent: false};
});

const terminal: readonly ConnectOption[] = [
  {name: 'container', type: 'string', description: 'The container that is meant; the only one where there is but one.'},
  {name: 'stderr', type: 'boolean', description: 'Passes on the standard error of the container.'},
  {name: 'stdin', type: 'boolean', description: 'Passes on what the caller types.'},
  {name: 'stdout', type: 'boolean', description: 'Passes on the standard output of the container.'},
  {name: 'tty', type: 'boolean', description: 'Uses a terminal.'},
];

/** The connect subresources of pods, answered by the node's agent or the pod. */
export const podConnectSubresources: Readonly<Record<string, ConnectSubresource>> = {
  attach: stream('PodAttachOptions', 'attach', terminal),
  exec: stream('PodExecOptions', 'exec', [
    {name: 'command', type: 'strings', description: 'The command and its arguments, none of them read by a shell.'},
    ...terminal,
  ]),
  log,
  portforward: stream('PodPortForwardOptions', 'portForward', [
    {name: 'ports', type: 'ports', description: 'The ports to forward, where the caller speaks WebSocket.'},
  ]),
  proxy,
};
