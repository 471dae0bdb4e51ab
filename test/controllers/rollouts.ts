// Rollouts over a real API server with seeded faults at the writes of the controllers, and with caches that lag behind.

import {controllers} from '#controllers/index.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {ApiHandler, ApiRequest, ApiResponse, WatchSink} from '#src/api/request.js';
import {statusError} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {noLog} from '#src/base/log.js';
import {seededRandom, type Random} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {isActive} from '#src/model/pod/state.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {parseFlags} from '#src/options/parse.js';
import {controllerManagerFlags} from '#src/options/programs/controller-manager.js';
import {createComponent} from '#src/plane/component/component.js';
import {inProcessConnection} from '#src/plane/component/in-process.js';
import {controllerManager} from '#src/plane/controller-manager/component.js';
import {wire} from '#test/apiserver/wire.js';
import {startServer} from '#test/fixtures/server.js';
import {planeKeys} from './faults/keys.js';

/** How often each fault strikes, as a share of the writes. */
export interface Rates {
  readonly refused?: number;
  /** The write is done, and its response lost. */
  readonly lost?: number;
  /** The longest time by which events of watches are late. */
  readonly lateMs?: number;
}

const answered = (reason: Parameters<typeof statusError>[0], message: string): ApiResponse => {
  const {status} = statusError(reason, message);
  return {status: status.code!, headers: {}, body: {kind: 'bytes', bytes: JSON.stringify(status), contentType: 'application/json'}};
};

const strike = async (request: ApiRequest, handler: ApiHandler, random: Random, {refused = 0, lost = 0}: Rates): Promise<ApiResponse> => {
  const at = random.float();
  if (at < refused) {
    const which = random.float();
    if (which < 0.3) return answered('TooManyRequests', 'too many requests');
    if (which < 0.6) return answered('InternalError', 'etcdserver: leader changed');
    if (which < 0.8) return answered('Timeout', 'request did not complete within the allotted timeout');
    throw new Error('connection refused');
  }
  if (at >= refused + lost) return handler(request);
  await handler(request);
  const which = random.float();
  if (which < 0.4) return answered('InternalError', 'etcdserver: request timed out');
  if (which < 0.7) return answered('Timeout', 'request did not complete within the allotted timeout');
  throw new Error('read: connection reset by peer');
};

export interface Rollout {
  /** The most pods at a time that are not terminating. */
  readonly most: number;
  readonly isComplete: boolean;
}

/** Rolls a deployment of `replicas` from one template to the next. The result is the same for the same seed. */
export const rollOut = async (replicas: number, seed: number, rates: Rates): Promise<Rollout> => {
  const clock = new VirtualClock();
  const random = seededRandom(seed);
  const {server, clientOf} = startServer({clock});
  const client = clientOf('admin');
  const naming = namingOf('plat');
  let calm = true;

  const late = (sink: WatchSink): WatchSink => {
    let last = 0;
    const inTurn = (act: () => void): void => {
      const at = Math.max(last, clock.monotonic() + (calm ? 0 : random.float() * (rates.lateMs ?? 0)));
      last = at;
      if (at <= clock.monotonic()) act();
      else clock.schedule(at - clock.monotonic(), act);
    };
    return {
      event(event) {
        inTurn(() => sink.event(event));
        return true;
      },
      drained: () => Promise.resolve(),
      end: () => inTurn(() => sink.end()),
    };
  };
  const handler: ApiHandler = async request => {
    using _ = clock.hold();
    if (request.method !== 'GET' && !/\/events(\?|$)/.test(request.url))
      return calm ? server.handler(request) : strike(request, server.handler, random, rates);
    const response = await server.handler(request);
    if (response.body.kind !== 'watch') return response;
    const {body} = response;
    return {...response, body: {...body, start: sink => body.start(rates.lateMs ? late(sink) : sink)}};
  };

  const parsed = parseFlags(controllerManagerFlags, [
    '--controllers=deployment-controller,replicaset-controller',
    '--leader-elect=false',
    '--use-service-account-credentials',
    ...planeKeys,
  ]);
  const connection = inProcessConnection({role: 'controller-manager', handler, naming, clock, options: parsed.options, set: parsed.set});
  const ending = new AbortController();
  const environment = {
    clock,
    random: seededRandom(seed + 1),
    log: noLog,
    metrics: new MetricsRegistry(),
    freeze: true,
    signal: ending.signal,
  };
  const {manager} = await createComponent(controllerManager(controllers), parsed, connection, environment);
  void manager.run(ending.signal).catch(() => {});

  const pods = client.resource(kinds.pods);
  const namespace = 'default';
  using watch = await wire(server.handler).watch('/api/v1/pods?watch=true');
  const nodes = async (): Promise<void> => {
    for (const {metadata, status} of (await pods.list()).items) {
      const name = metadata!.name!;
      if (metadata?.deletionTimestamp) await pods.delete(name, {namespace, gracePeriodSeconds: 0});
      else if (status?.phase !== 'Running' && random.float() < 0.5)
        await pods.patch(
          name,
          'merge',
          {status: {phase: 'Running', conditions: [{type: 'Ready', status: 'True', lastTransitionTime: wireTime(clock.now())}]}},
          {namespace, subresource: 'status'},
        );
    }
  };
  const deployments = client.resource(kinds.deployments);
  const isComplete = async (): Promise<boolean> => {
    const {metadata, status} = await deployments.get('d', {namespace});
    return (
      status?.observedGeneration === metadata?.generation &&
      status?.updatedReplicas === replicas &&
      status?.availableReplicas === replicas &&
      status?.replicas === replicas
    );
  };
  const settle = async (): Promise<boolean> => {
    for (let round = 0; round < 1000; round++) {
      if (await isComplete()) return true;
      await nodes();
      await clock.advance(500);
    }
    return false;
  };

  await client.resource(kinds.namespaces).create({metadata: {name: namespace}});
  await deployments.create({
    metadata: {name: 'd', namespace},
    spec: {
      replicas,
      selector: {matchLabels: {app: 'd'}},
      strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: '10%', maxUnavailable: '25%'}},
      template: {metadata: {labels: {app: 'd'}}, spec: {containers: [{name: 'c', image: 'i:1'}]}},
    },
  });
  await settle();
  calm = false;
  await deployments.patch('d', 'merge', {spec: {template: {spec: {containers: [{name: 'c', image: 'i:2'}]}}}}, {namespace});
  const complete = await settle();
  ending.abort();
  await clock.drain();

  const active = new Set<string>();
  let most = 0;
  for (const {type, object} of watch.events) {
    const {uid = ''} = object.metadata ?? {};
    if (type !== 'DELETED' && isActive(object as unknown as Pod)) active.add(uid);
    else active.delete(uid);
    most = Math.max(most, active.size);
  }
  return {most, isComplete: complete};
};
