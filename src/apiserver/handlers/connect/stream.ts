import type {ApiResponse} from '#src/api/request.js';
import {badRequest, plainFailure} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import type {ConnectSubresource, ConnectOptions} from '#src/resources/definition.js';
import {commandRelay} from '#src/serving/streams/command.js';
import {commandProtocols, tunnelProtocols} from '#src/serving/streams/protocols.js';
import {tunnelThroughWebSocket} from '#src/serving/streams/tunnel.js';
import type {Target} from '#src/transport/dial.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import type {ResourceContext} from '#src/apiserver/request/context.js';
import type {ResourceServices} from '#src/apiserver/handlers/resource.js';

/** A connection to an agent that is upgraded to another protocol. */
export interface StreamConnection {
  readonly connect: ConnectSubresource;
  readonly options: ConnectOptions;
  readonly to: Target;
  /** The path and query at the agent. */
  readonly path: string;
}

const has = ({options: {fields}}: ConnectSubresource, option: string): boolean => fields.some(({name}) => name === option);

/**
 * Connects a client with an agent. Bytes are relayed unchanged, with two exceptions for WebSocket clients, so that
 * agents need only support SPDY: streams of a command with half-close (version 5), and SPDY tunneled through the
 * WebSocket for port-forward.
 */
export const connectStream = async (
  {backends, registry, connectMetrics: metrics, connectBytesPerSecond: bytesPerSecond}: ResourceServices,
  {connect, options, to, path}: StreamConnection,
  {request}: ResourceContext,
): Promise<ApiResponse> => {
  if (!request.upgradable || request.headers['upgrade'] === undefined) throw badRequest('Upgrade request required');
  const {gate} = registry.settings;
  const relayed = {request, to, path, bytesPerSecond};
  const command = has(connect, 'stdin') && gate('TranslateStreamCloseWebsocketRequests') ? commandProtocols(request) : undefined;
  if (command) {
    const requested = {
      stdin: options['stdin'] === true,
      stdout: options['stdout'] === true,
      stderr: options['stderr'] === true,
      tty: options['tty'] === true,
    };
    return commandRelay(backends, {relayed, wanted: requested, ...command, ended: code => metrics.translated(code)});
  }
  const tunnels = has(connect, 'ports') && gate('PortForwardWebsockets') && tunnelProtocols(request).length > 0;
  try {
    const response = await (tunnels ? tunnelThroughWebSocket : relayUpgrade)(backends, relayed);
    if (tunnels) metrics.tunnelled(response.status);
    return response;
  } catch (error) {
    if (tunnels) metrics.tunnelled(500);
    throw plainFailure(messageOf(error), error);
  }
};
