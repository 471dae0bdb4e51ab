// Runs one probe of any kind.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Probe} from '#src/api/pod.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {Network} from '#src/transport/network.js';
import {httpGetter} from './http.js';
import {probeError, type ProbeOutcome} from './outcome.js';
import {probeExec} from './probe-exec.js';
import {probeGrpc} from './probe-grpc.js';
import {probeHttp} from './probe-http.js';
import {probeTcp} from './probe-tcp.js';
import {httpTarget, portOf} from './target.js';
import {userAgent} from './user-agent.js';

export interface ProbeTarget {
  readonly container: Frozen<AnyContainer>;
  readonly id: string;
  /** The address of the pod. */
  readonly address: string;
}

/** Runs a probe once. Never rejects. */
export type RunProbe = (probe: Frozen<Probe>, target: ProbeTarget) => Promise<ProbeOutcome>;

export interface ProbeParts {
  readonly naming: Naming;
  readonly runtime: Pick<Runtime, 'execSync'>;
  readonly clock: Clock;
  readonly network: Network;
}

const maxAttempts = 3;

export const probeRunner = ({naming, runtime, clock, network}: ProbeParts): RunProbe => {
  const agent = userAgent(naming, 'probe');
  const get = httpGetter(clock, network);
  const attempt = async (probe: Frozen<Probe>, {container, id, address}: ProbeTarget): Promise<ProbeOutcome> => {
    const {exec, httpGet, tcpSocket, grpc, timeoutSeconds = 1} = probe;
    const timeoutMs = timeoutSeconds * 1000;
    if (exec) return probeExec(runtime, id, exec.command ?? [], timeoutSeconds);
    if (httpGet) return probeHttp(get, {...httpTarget(httpGet, container, address), agent, timeoutMs});
    if (tcpSocket) return probeTcp(clock, network, [tcpSocket.host || address, portOf(tcpSocket.port, container)], timeoutMs);
    if (grpc) return probeGrpc(clock, network, {host: address, port: grpc.port, service: grpc.service ?? '', timeoutMs, agent});
    return probeError(`missing probe handler for container ${container.name}`);
  };
  return async (probe, target) => {
    let outcome = probeError('');
    for (let tries = 0; tries < maxAttempts; tries++) {
      outcome = await attempt(probe, target).catch((error: unknown) => probeError(messageOf(error)));
      if (outcome.error === undefined) break;
    }
    return outcome;
  };
};
