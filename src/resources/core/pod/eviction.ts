import {invalid, invalidObject} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Eviction, Pod, PodDisruptionBudget} from '#src/api/pod.js';
import {labelSelectorOf} from '#src/api/selectors/label-selector.js';
import {badRequest, conflict, forbidden, isConflict, notFound, success, tooManyRequests, type Status} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {DeleteOptions} from '#src/api/types.js';
import {isReady, isTerminal} from '#src/model/pod/state.js';
import type {Action, ActionContext} from '#src/resources/definition.js';
import {setPodCondition} from './conditions.js';

const tooSoon = "Cannot evict pod as it would violate the pod's disruption budget.";
const laterSeconds = 10;
/** The limit of evictions that the disruption controller has not yet observed. */
const maxUnseen = 2000;

const busy = (budget: string): Error =>
  tooManyRequests(tooSoon, laterSeconds, [
    {reason: 'DisruptionBudget', message: `The disruption budget ${budget} is still being processed by the server.`},
  ]);

/** Reports whether a pod can be evicted without a budget, since it does no work. */
const needsNoBudget = (pod: Readonly<Pod>): boolean =>
  isTerminal(pod) || pod.status?.phase === 'Pending' || Boolean(pod.metadata?.deletionTimestamp);

const covers = ({spec}: Readonly<PodDisruptionBudget>, pod: Readonly<Pod>): boolean => {
  try {
    return labelSelectorOf(spec?.selector).matches(pod.metadata?.labels);
  } catch {
    return false;
  }
};

/**
 * Reports whether an unready pod may be evicted without using up a disruption: while enough others are healthy, or
 * always if the budget's policy allows it.
 */
const mayEvictUnready = ({spec, status}: Readonly<PodDisruptionBudget>, pod: Readonly<Pod>): boolean => {
  if (isReady(pod)) return false;
  if (spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return (status?.currentHealthy ?? 0) >= (status?.desiredHealthy ?? 0) && (status?.desiredHealthy ?? 0) > 0;
};

const exhausted = ({metadata, status}: Readonly<PodDisruptionBudget>): Error => {
  const verdict = status?.conditions?.find(({type}) => type === 'DisruptionAllowed');
  const condition = verdict?.status === 'False' && verdict.message ? verdict : undefined;
  const [healthy, requested] = [status?.currentHealthy ?? 0, status?.desiredHealthy ?? 0];
  const message = (): string => {
    if (condition?.reason === 'SyncFailed') return `does not allow evicting pods currently because it failed sync: ${condition.message}`;
    if (healthy <= requested) return `needs ${requested} healthy pods and has ${healthy} currently`;
    return `does not allow evicting pods currently${condition ? ` (${condition.reason}): ${condition.message}` : ''}`;
  };
  return tooManyRequests(tooSoon, 0, [{reason: 'DisruptionBudget', message: `The disruption budget ${metadata?.name} ${message()}`}]);
};

/** Takes one disruption from a budget. Throws if none is allowed. */
const takeDisruption = (budget: PodDisruptionBudget, pod: string, {naming, clock}: ActionContext): void => {
  const {status, metadata} = budget;
  const name = metadata?.name ?? '';
  if ((status?.observedGeneration ?? 0) < (metadata?.generation ?? 0)) throw busy(name);
  const allowed = status?.disruptionsAllowed ?? 0;
  const ref = {group: naming.group('policy'), resource: 'poddisruptionbudget'};
  if (allowed < 0) throw forbidden(ref, name, 'pdb disruptions allowed is negative');
  if (Object.keys(status?.disruptedPods ?? {}).length > maxUnseen) {
    throw forbidden(ref, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (allowed === 0 || !status) throw exhausted(budget);
  status.disruptionsAllowed = allowed - 1;
  status.disruptedPods = {...status.disruptedPods, [pod]: wireTime(clock.now())};
  if (allowed > 1) return;
  const others = (status.conditions ?? []).filter(({type}) => type !== 'DisruptionAllowed');
  const now = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'InsufficientPods',
    message: '',
    lastTransitionTime: wireTime(clock.now()),
  };
  status.conditions = [...others, {...now, ...(metadata?.generation ? {observedGeneration: metadata.generation} : {})}];
};

const multipleBudgets: Status = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  code: 500,
};

const done = (): Status => ({...success(), code: 201});

/** A dry run can be requested in the query or in the eviction. */
const isDryRun = ({dryRun}: DeleteOptions, context: ActionContext): boolean => context.dryRun || Boolean(dryRun?.length);

/** Marks a pod as evicted and deletes it. `version` is set if the decision holds for that resource version only. */
const remove = async (pod: Readonly<Pod>, options: DeleteOptions, version: string | undefined, context: ActionContext): Promise<void> => {
  const name = pod.metadata!.name!;
  const own = options.preconditions?.resourceVersion ?? version;
  if (isDryRun(options, context)) {
    const preconditions = {...options.preconditions, ...(own === undefined ? {} : {resourceVersion: own})};
    return context.writer.delete(kinds.pods, context.namespace, name, {...options, preconditions, dryRun: ['All']});
  }
  const marked = await context.writer.change(kinds.pods, context.namespace, name, current => {
    checkState(current, options.preconditions?.uid, own);
    setPodCondition(
      current,
      {type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting'},
      context,
    );
  });
  const preconditions = {...options.preconditions, ...(own === undefined ? {} : {resourceVersion: marked.metadata!.resourceVersion!})};
  await context.writer.delete(kinds.pods, context.namespace, name, {
    ...options,
    ...(Object.keys(preconditions).length > 0 ? {preconditions} : {}),
  });
};

/** Throws unless the pod has the expected uid and resource version. */
const checkState = ({metadata}: Readonly<Pod>, uid: string | undefined, version: string | undefined): void => {
  const ref = {group: '', resource: 'Pod'};
  const name = metadata?.name ?? '';
  if (uid && uid !== metadata?.uid) {
    throw conflict(
      ref,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata?.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (version && version !== metadata?.resourceVersion) {
    throw conflict(
      ref,
      name,
      `the ResourceVersion in the precondition (${version}) does not match the ResourceVersion in record (${metadata?.resourceVersion}). The object might have been modified`,
    );
  }
};

const podOf = async ({reader, namespace}: ActionContext, name: string): Promise<Readonly<Pod>> => {
  const pod = await reader.get(kinds.pods, namespace, name);
  if (!pod) throw notFound({group: '', resource: 'pods'}, name);
  return pod;
};

/** Checks an eviction against the pod's budget. Returns the resource version for which the decision holds, if it depends on it. */
const checkBudget = async (
  pod: Readonly<Pod>,
  options: DeleteOptions,
  context: ActionContext,
): Promise<{readonly version?: string; readonly budget?: string} | Status> => {
  const {reader, writer, namespace} = context;
  const [budget, other] = (await reader.list(kinds.podDisruptionBudgets, namespace)).filter(candidate => covers(candidate, pod));
  if (other) return multipleBudgets;
  if (!budget) return {};
  const name = budget.metadata!.name!;
  if (mayEvictUnready(budget, pod)) return {version: pod.metadata!.resourceVersion!, budget: name};
  if (isDryRun(options, context)) takeDisruption(structuredClone(budget) as PodDisruptionBudget, pod.metadata!.name!, context);
  else await writer.change(kinds.podDisruptionBudgets, namespace, name, current => takeDisruption(current, pod.metadata!.name!, context));
  return {budget: name};
};

const isStatus = (value: object): value is Status => 'kind' in value;

const maxTries = 20;

/** Deletes a pod that does no work, retrying after conflicts as long as it does none. Returns the pod if it does. */
const removeIdle = async (name: string, options: DeleteOptions, context: ActionContext): Promise<Readonly<Pod> | undefined> => {
  for (let tries = 1; ; tries++) {
    const pod = await podOf(context, name);
    if (!needsNoBudget(pod)) return pod;
    try {
      const isFinal = isTerminal(pod) || Boolean(pod.metadata?.deletionTimestamp);
      await remove(pod, options, isFinal ? undefined : pod.metadata!.resourceVersion, context);
      return undefined;
    } catch (error) {
      if (!isConflict(error) || options.preconditions?.resourceVersion !== undefined || tries >= maxTries) throw error;
    }
  }
};

/** Deletes a pod if its disruption budget allows it (the API reference, API-initiated eviction). */
export const evictionAction: Action<Eviction> = {
  kind: kinds.evictions,
  otherVersions: ['v1beta1'],
  async run(eviction, context) {
    const {name} = context;
    if (eviction.metadata?.name !== name) throw badRequest('name in URL does not match name in Eviction object');
    const options: DeleteOptions & {ignoreStoreReadErrorWithClusterBreakingPotential?: boolean} = eviction.deleteOptions ?? {};
    if (options.ignoreStoreReadErrorWithClusterBreakingPotential) {
      const path = 'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential';
      throw invalidObject({group: context.naming.group('policy'), kind: 'Eviction'}, name, [
        invalid(path, true, 'can not be set for pod eviction, try after removing the option'),
      ]);
    }
    const pod = await removeIdle(name, options, context);
    if (!pod) return done();
    const outcome = await checkBudget(pod, options, context);
    if (isStatus(outcome)) return outcome;
    try {
      await remove(pod, options, outcome.version, context);
    } catch (error) {
      const wasChanged = isConflict(error) && outcome.version !== undefined && options.preconditions?.resourceVersion === undefined;
      throw wasChanged ? busy(outcome.budget ?? '') : error;
    }
    return done();
  },
};
