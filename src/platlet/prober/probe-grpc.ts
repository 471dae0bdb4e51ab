import {formatDuration} from '#src/api/duration.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {GrpcChannel, GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import {MessageWriter, readMessage} from '#src/transport/grpc/message.js';
import {dialer} from '#src/transport/dial.js';
import {endpoint, type Network} from '#src/transport/network.js';
import {probeError, failure, success, type ProbeOutcome} from './outcome.js';

const statusNames = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
const serving = 1;
const unimplemented = 12;

export interface GrpcProbe {
  readonly host: string;
  readonly port: number;
  readonly service: string;
  readonly timeoutMs: number;
  readonly agent: string;
}

const outcomeOf = (error: unknown, address: string, timeoutMs: number): ProbeOutcome => {
  if (!(error instanceof GrpcError)) return probeError(messageOf(error));
  const within = formatDuration(timeoutMs);
  switch (error.code) {
    case unimplemented:
      return failure(`error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.message}`);
    case grpcCodes.deadlineExceeded:
      return failure(`timeout: health rpc did not complete within ${within}`);
    case grpcCodes.unavailable:
      return failure(`timeout: failed to connect service ${JSON.stringify(address)} within ${within}: ${error.message}`);
    default:
      return failure(`error: health rpc probe failed: ${error.message}`);
  }
};

/** Probes by the gRPC health service, without TLS. */
export const probeGrpc = async (
  clock: Clock,
  network: Network,
  {host, port, service, timeoutMs, agent}: GrpcProbe,
): Promise<ProbeOutcome> => {
  const address = endpoint(host, port);
  await using channel = new GrpcChannel({
    servers: [`http://${address}`],
    clock,
    connectTimeoutMs: timeoutMs,
    dial: dialer(network, clock),
    userAgent: agent,
  });
  try {
    const answer = await channel.call('/grpc.health.v1.Health/Check', new MessageWriter().bytes(1, service).finish(), timeoutMs);
    let status = 0;
    readMessage(answer, {1: field => void (status = field.int)});
    const name = statusNames[status] ?? String(status);
    return status === serving ? success(`service healthy`) : failure(`service unhealthy (responded with ${JSON.stringify(name)})`);
  } catch (error) {
    return outcomeOf(error, address, timeoutMs);
  }
};
