// Serves the resources of pods at a unix socket, to processes of the node.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {serves} from '#src/platlet/rpc/served.js';
import {GrpcError, grpcCodes} from '#src/transport/grpc/channel.js';
import {GrpcServer, type Serve} from '#src/transport/grpc/server.js';
import {allocatableResources, alphaPodResources, podResourcesOf, type AssignedOnNode} from './answers.js';
import {get, getAllocatable, list, listAlpha} from './messages.js';

export interface PodResourcesParts {
  readonly assigned: AssignedOnNode;
  readonly pods: {
    /** The pods that are admitted and have not finished. */
    readonly active: readonly Frozen<Pod>[];
    /** The pods of all sources. */
    readonly shown: readonly Frozen<Pod>[];
    /** Releases what is assigned to other pods than the active ones. */
    release(): void;
  };
  /** Whether only active pods are listed. The older service always lists all. */
  readonly listsActive: boolean;
  /** Whether single pods may be asked for; they must be active. */
  readonly hasGet: boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<
    AgentMetrics,
    'podResources' | 'podResourcesLists' | 'podResourcesAllocatable' | 'podResourcesGets' | 'podResourcesGetErrors'
  >;
}

const callsPerSecond = 100;
const burst = 10;

const [v1, v1alpha1] = [{server_api_version: 'v1'}, {server_api_version: 'v1alpha1'}];

/** Returns the server, which does not listen yet. */
export const podResourcesServer = ({assigned, pods, listsActive, hasGet, clock, log, metrics}: PodResourcesParts): GrpcServer => {
  const bucket = new TokenBucket(clock, callsPerSecond, burst);
  const limited =
    (serve: Serve): Serve =>
    async (message, call) => {
      if (!bucket.tryTake()) throw new GrpcError(grpcCodes.resourceExhausted, 'rejected by rate limit');
      return await serve(message, call);
    };
  const procedures = {
    ...serves(list, () => {
      metrics.podResources.add(v1);
      metrics.podResourcesLists.add(v1);
      pods.release();
      return {podResources: (listsActive ? pods.active : pods.shown).map(pod => podResourcesOf(assigned, pod))};
    }),
    ...serves(getAllocatable, () => {
      metrics.podResources.add(v1);
      metrics.podResourcesAllocatable.add(v1);
      return allocatableResources(assigned);
    }),
    ...serves(get, ({podName, podNamespace}) => {
      metrics.podResources.add(v1);
      metrics.podResourcesGets.add(v1);
      const pod = pods.active.find(({metadata}) => metadata?.name === podName && metadata.namespace === podNamespace);
      if (hasGet && pod) return {podResources: podResourcesOf(assigned, pod)};
      metrics.podResourcesGetErrors.add(v1);
      const why = hasGet ? `pod ${podName} in namespace ${podNamespace} not found` : 'PodResources API Get method disabled';
      throw new GrpcError(grpcCodes.unknown, why);
    }),
    ...serves(listAlpha, () => {
      metrics.podResources.add(v1alpha1);
      pods.release();
      return {podResources: pods.shown.map(pod => alphaPodResources(assigned, pod))};
    }),
  };
  return new GrpcServer({log, procedures: Object.fromEntries(Object.entries(procedures).map(([path, serve]) => [path, limited(serve)]))});
};
