import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {withClockHeld, sleep, type Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {jittered} from '#src/base/random.js';
import {firstOf} from '#src/base/signals.js';
import type {CloudNode, Route, Routes} from '#src/runtime/cloud.js';
import type {ControllerContext, Run} from '#src/runtime/controller.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {actionsFor, changesRoutes, clusterRanges, routeOf, routesToDelete, type RouteActions, type RouteOptions} from './policy.js';

/** How many calls of the cloud run concurrently. */
const atOnce = 200;
const maxAttempts = 5;
const conflictMs = 100;

/** Runs one call for each item, a bounded number of them at a time. */
const forEachAtOnce = async <T>(items: readonly T[], call: (item: T) => Promise<void>): Promise<void> => {
  const left = items.values();
  const work = async () => {
    for (const item of left) await call(item);
  };
  await Promise.all(Array.from({length: Math.min(atOnce, items.length)}, work));
};

/** Between these, at random, all routes are reconciled without a change of a node, if changes start it. */
const leastResyncMs = 12 * 3_600_000;
const firstRetryMs = 5;
const maxRetryMs = 1_000_000;

/** Returns what resolves at the next relevant change of a node, or at once if there was one since the last call. */
const nodeChanges = ({listen}: ControllerContext<RouteOptions>) => {
  let isDue = false;
  let wake = (): void => {};
  listen(kinds.nodes, change => {
    if (change.type === 'updated' && !changesRoutes(change.old, change.object)) return;
    isDue = true;
    wake();
  });
  /** Resolves at the next change, after the delay, or when the signal aborts. */
  return async (clock: Clock, ms: number, signal: AbortSignal): Promise<void> => {
    const woken = new AbortController();
    wake = () => woken.abort();
    if (!isDue) {
      using either = firstOf(signal, woken.signal);
      await sleep(clock, ms, either.signal).catch(() => {});
    }
    isDue = false;
  };
};

/**
 * Reconciles the routes of all nodes at the start and then after each period, or, by a feature gate, after each change
 * of a node.
 */
export const nodeRoutes = (context: ControllerContext<RouteOptions>): Run => {
  const {cloud, clock, log, options, gates, random} = context;
  const ranges = clusterRanges(options.clusterCidr);
  const routes = cloud?.provider.routes;
  if (!routes) {
    log.warn({provider: cloud?.provider.name}, 'the cloud provider has no routes: none are kept');
    return signal => abortOf(signal);
  }
  const reconcile = reconciler(context, routes, ranges);
  const nextChange = gates.enabled('CloudControllerManagerWatchBasedRoutesReconciliation') ? nodeChanges(context) : undefined;
  return async signal => {
    for (let failures = 0; !signal.aborted;) {
      try {
        await withClockHeld(clock, () => reconcile(signal));
        failures = 0;
      } catch (error) {
        failures += 1;
        if (!signal.aborted) log.error({err: error}, 'the routes of the cloud could not be reconciled');
      }
      const retryMs = Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
      if (nextChange) await nextChange(clock, failures > 0 ? retryMs : jittered(random, leastResyncMs, 1), signal);
      else await sleep(clock, options.routeReconciliationPeriod, signal).catch(() => {});
    }
  };
};

const reconciler = (context: ControllerContext<RouteOptions>, routes: Routes, ranges: ReturnType<typeof clusterRanges>) => {
  const {lister, log, options} = context;
  const nodes = lister(kinds.nodes);

  /** Deletes routes; whether they are tracked by node addresses decides if creations wait. */
  const remove = (stale: readonly Route[]): Promise<void> =>
    forEachAtOnce(stale, async route => {
      try {
        await routes.delete(options.clusterName, route);
        log.v(1).info({route: route.name, cidr: route.destinationCIDR}, 'deleted a route');
      } catch (error) {
        log.error({route: route.name, cidr: route.destinationCIDR, err: error}, 'a route could not be deleted');
      }
    });

  return async (signal: AbortSignal): Promise<void> => {
    const found = await routes.list(options.clusterName);
    const all = nodes.list() as readonly CloudNode[];
    const actions = actionsFor(all, found);
    const removed = remove(routesToDelete(found, actions, ranges));
    if (found.some(({enableNodeAddresses}) => enableNodeAddresses)) await removed;
    const missing = all.flatMap(node =>
      [...(actions.get(node.metadata?.name ?? '') ?? [])].filter(([, action]) => action !== 'keep').map(([cidr]) => ({node, cidr})),
    );
    await forEachAtOnce(missing, each => createRoute(context, routes, {...each, actions, signal}));
    await removed;
    const reported = all.filter(({spec}) => spec?.podCIDRs?.length);
    await forEachAtOnce(reported, node => report(context, node, actions, signal));
  };
};

interface Creation {
  readonly node: CloudNode;
  readonly cidr: string;
  readonly actions: RouteActions;
  readonly signal: AbortSignal;
}

/** Creates the route of a node's CIDR and marks it as one to keep. A failure is reported on the node. */
const createRoute = async (
  context: ControllerContext<RouteOptions>,
  routes: Routes,
  {node, cidr, actions, signal}: Creation,
): Promise<void> => {
  const {clock, events, log, options} = context;
  const {name = '', uid = ''} = node.metadata ?? {};
  const begun = clock.monotonic();
  try {
    await retriedOnConflict(context, signal, () => routes.create(options.clusterName, uid, routeOf(node, cidr)));
    actions.get(name)?.set(cidr, 'keep');
    log.v(1).info({node: name, cidr}, 'created a route');
  } catch (error) {
    const ms = Math.round(clock.monotonic() - begun);
    const message = `Could not create route ${uid} ${cidr} for node ${name} after ${ms}ms: ${messageOf(error)}`;
    events.warning(node, 'FailedToCreateRoute', message);
    log.error({node: name, cidr, err: error}, 'a route could not be created');
  }
};

const retriedOnConflict = async <T>(
  {clock, random}: ControllerContext<RouteOptions>,
  signal: AbortSignal,
  call: () => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
    }
    await sleep(clock, jittered(random, conflictMs, 1), signal);
  }
};

/** Writes the condition of a node's network, if it changes. */
const report = async (
  context: ControllerContext<RouteOptions>,
  node: CloudNode,
  actions: RouteActions,
  signal: AbortSignal,
): Promise<void> => {
  const {client, clock, log} = context;
  const name = node.metadata?.name ?? '';
  const states = [...(actions.get(name)?.values() ?? [])];
  const isReachable = states.length > 0 && states.every(action => action === 'keep');
  const status = isReachable ? 'False' : 'True';
  if (node.status?.conditions?.find(({type}) => type === 'NetworkUnavailable')?.status === status) return;
  const time = wireTime(clock.now());
  const condition = {
    type: 'NetworkUnavailable',
    status,
    reason: isReachable ? 'RouteCreated' : 'NoRouteCreated',
    message: isReachable ? 'RouteController created a route' : 'RouteController failed to create a route',
    lastHeartbeatTime: time,
    lastTransitionTime: time,
  };
  const nodes = client.resource(kinds.nodes);
  try {
    await retriedOnConflict(context, signal, () =>
      nodes.patch(name, 'strategic', {status: {conditions: [condition]}}, {subresource: 'status', signal}),
    );
  } catch (error) {
    if (!isNotFound(error)) log.error({node: name, err: error}, 'the condition NetworkUnavailable of a node could not be written');
  }
};
