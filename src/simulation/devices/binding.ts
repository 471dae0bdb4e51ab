// Devices that become ready for a pod only after a delay: binding conditions of their claims, for which the scheduler
// waits.

import type {InformerFactory} from '#informers/factory.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {WorkQueue} from '#src/queue/work-queue.js';
import type {Workers} from '#src/queue/workers.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {drawDuration, exactly} from '#src/simulation/rules/behavior.js';
import {devicesOfNode, type DeviceRule} from '#src/simulation/rules/device-rule.js';

const usual = exactly(100);

type Result = NonNullable<NonNullable<NonNullable<NonNullable<DeviceClaim['status']>['allocation']>['devices']>['results']>[number];

/** Starts, with the informers synced. Returns a function that stops it. */
type Start = (run: (queue: WorkQueue, concurrency: number, reconcile: Reconcile) => Workers) => () => Promise<void>;

const concurrency = 8;

/**
 * Returns the controller of binding conditions of claims, according to the rules. To be called before the informers
 * start.
 */
export const deviceBinding = (
  context: SimulationContext,
  informers: InformerFactory,
  queueOf: (name: string) => WorkQueue,
): Start | undefined => {
  if (!context.rules.devices.some(({bindingConditions}) => bindingConditions)) return undefined;
  const claims = informers.informer<DeviceClaim>(kinds.resourceClaims);
  const queue = queueOf('simulated-device-claims');
  return run => {
    const listening = claims.listen(({object}) => queue.add(keyText(keyOf(object))));
    const workers = run(queue, concurrency, deviceBinder(context, claims.lister));
    return async () => {
      listening[Symbol.dispose]();
      queue.shutDown();
      await workers.stop();
    };
  };
};

/** Sets the binding conditions of allocated devices, or one of their failure conditions, according to the rules. */
const deviceBinder = ({agents, client, timeline, naming, rules}: SimulationContext, claims: Lister<DeviceClaim>): Reconcile => {
  const ruleOf = ({driver, pool, device}: Pick<Result, 'driver' | 'pool' | 'device'>): DeviceRule | undefined =>
    agents.has(pool)
      ? devicesOfNode(rules.devices, pool)
          .get(driver)
          ?.find(({name}) => name === device)?.rule
      : undefined;
  /** Returns the conditions of a device, with the time at which it became ready or failed. */
  const conditionsOf = ({bindingConditions = [], bindingFailureConditions = [], bindError}: DeviceRule, at: number) => {
    const [failure = ''] = bindingFailureConditions;
    const common = {status: 'True', lastTransitionTime: wireTime(timeline.wallOf(at))};
    return bindError === undefined
      ? bindingConditions.map(type => ({type, reason: 'Ready', message: '', ...common}))
      : [{type: failure, reason: 'BindingFailed', message: bindError, ...common}];
  };

  return async key => {
    const claim = claims.get(key);
    const {allocation, devices: known = []} = claim?.status ?? {};
    if (!claim || !allocation) return settled;
    const {name = '', namespace = '', uid} = claim.metadata ?? {};
    const now = timeline.now();
    const allocated = parseTime(allocation.allocationTimestamp);
    const allocatedAt = allocated === undefined ? now : timeline.timeOf(allocated);
    const timed = (allocation.devices?.results ?? []).flatMap(result => {
      const rule = result.bindingConditions?.length ? ruleOf(result) : undefined;
      if (!rule) return [];
      const at = allocatedAt + drawDuration(rule.bindAfter ?? usual, `${uid}/${result.device}/bindAfter`);
      return [{result, at, conditions: conditionsOf(rule, at)}];
    });
    const due = timed.filter(({at}) => at <= now);
    const isKnown = ({result, conditions}: (typeof due)[number]): boolean => {
      const found = known.find(({driver, pool, device}) => driver === result.driver && pool === result.pool && device === result.device);
      return conditions.every(({type}) => found?.conditions?.some(each => each.type === type && each.status === 'True'));
    };
    if (!due.every(isKnown)) {
      const devices = due.map(({result: {driver, pool, device, shareID}, conditions}) => ({
        driver,
        pool,
        device,
        ...(shareID === undefined ? {} : {shareID}),
        conditions,
      }));
      const kind = kinds.resourceClaims;
      const intent = {apiVersion: apiVersionOf(naming, kind), kind: kind.kind, metadata: {name, namespace, uid}, status: {devices}};
      try {
        await client
          .resource(kind)
          .patch(name, 'apply', intent, {namespace, subresource: 'status', fieldManager: 'simulation-binding', force: true});
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    const next = Math.min(Infinity, ...timed.map(({at}) => at).filter(at => at > now));
    return next === Infinity ? settled : requeueAfter(next - now);
  };
};
