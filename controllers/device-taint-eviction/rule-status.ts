import {counted} from '#src/base/text/counted.js';
import type {Lister} from '#informers/lister.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Frozen} from '#src/api/key.js';
import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {DeviceClaim} from '#src/model/devices/pod-claims.js';
import type {DeviceTaintRule} from '#src/model/devices/taints.js';
import {ruleSelects} from '#src/model/devices/taints.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {DeviceTaints} from './taints.js';

/** The progress of evictions for one rule. */
export interface RuleProgress {
  /** The namespaces of the pods that wait to be evicted, one for each pod. */
  readonly pending: readonly string[];
  /** How many pods were evicted since the start of the controller. */
  readonly evicted: number;
}

interface Finding {
  readonly status: 'True' | 'False';
  readonly reason: 'PodsPendingEviction' | 'Completed' | 'NotStarted' | 'NoEffect' | 'OtherEffect';
  readonly message: string;
}

export interface RuleStatusParts extends Pick<KeyedContext, 'client' | 'clock' | 'naming' | 'name'> {
  readonly taints: DeviceTaints;
  readonly claims: Lister<DeviceClaim>;
}

const inNamespaces = (count: number): string => (count === 1 ? '1 namespace' : `${count} different namespaces`);

/** Returns what a rule without effect would do. */
const dryRun = (rule: Frozen<DeviceTaintRule>, {taints, claims}: RuleStatusParts): Finding => {
  const evicting = {...rule, spec: {...rule.spec, taint: {...rule.spec.taint, effect: 'NoExecute'}}} as Frozen<DeviceTaintRule>;
  const pods = new Map<string, string>();
  let allocated = 0;
  for (const claim of claims.list()) {
    allocated += (claim.status?.allocation?.devices?.results ?? []).filter(result => ruleSelects(rule, result)).length;
    if (!taints.evictionOf(claim, evicting)?.rules.includes(rule.metadata?.name ?? '')) continue;
    for (const {uid} of claim.status?.reservedFor ?? []) pods.set(uid, claim.metadata?.namespace ?? '');
  }
  const namespaces = new Set(pods.values()).size;
  const evicted = `${counted(pods.size, 'pod')} would be evicted in ${inNamespaces(namespaces)} if the effect was NoExecute`;
  const selected = `${counted(taints.countSelected(rule), 'published device')} selected. ${counted(allocated, 'allocated device')} selected.`;
  return {
    status: 'False',
    reason: 'NoEffect',
    message: `${selected} ${evicted}. This information will not be updated again. Recreate the DeviceTaintRule to trigger an update.`,
  };
};

const findingOf = (rule: Frozen<DeviceTaintRule>, {pending, evicted}: RuleProgress, parts: RuleStatusParts): Finding => {
  const {effect} = rule.spec.taint;
  if (effect === 'None') return dryRun(rule, parts);
  if (effect !== 'NoExecute') return {status: 'False', reason: 'OtherEffect', message: 'Eviction only happens for the NoExecute effect.'};
  if (pending.length > 0) {
    const need = pending.length === 1 ? 'needs' : 'need';
    const message = `${counted(pending.length, 'pod')} ${need} to be evicted in ${inNamespaces(new Set(pending).size)}.`;
    return {status: 'True', reason: 'PodsPendingEviction', message};
  }
  return {status: 'False', reason: evicted > 0 ? 'Completed' : 'NotStarted', message: ''};
};

/** How long a condition lasts at least before its numbers are written again, in milliseconds. */
export const statusPeriodMs = 10_000;

/**
 * Writes the condition of a rule, unless it is up to date. Returns the milliseconds to wait where it was written a
 * moment ago.
 */
export const writeRuleStatus = async (
  rule: Frozen<DeviceTaintRule>,
  progress: RuleProgress,
  parts: RuleStatusParts,
): Promise<number | undefined> => {
  const {client, clock, naming, name: fieldManager} = parts;
  const {name = '', uid, generation} = rule.metadata ?? {};
  const before = rule.status?.conditions?.find(({type}) => type === 'EvictionInProgress');
  const isObserved = before?.observedGeneration === generation;
  // The numbers of a rule without effect are found once.
  if (rule.spec.taint.effect === 'None' && before?.reason === 'NoEffect' && isObserved) return undefined;
  const writtenAt = isObserved ? parseTime(before?.lastTransitionTime) : undefined;
  if (writtenAt !== undefined && clock.now() - writtenAt < statusPeriodMs) return writtenAt + statusPeriodMs - clock.now();
  const {status, reason, message} = findingOf(rule, progress, parts);
  const since = progress.evicted > 0 ? `${counted(progress.evicted, 'pod')} evicted since starting the controller.` : '';
  const whole = [message, since].filter(Boolean).join(' ');
  const condition = {type: 'EvictionInProgress', status, reason, message: whole, observedGeneration: generation};
  const isSame = (['status', 'reason', 'message', 'observedGeneration'] as const).every(field => before?.[field] === condition[field]);
  if (isSame) return undefined;
  // As the original's: each change counts as a transition.
  const lastTransitionTime = wireTime(clock.now());
  const intent = {
    apiVersion: apiVersionOf(naming, kinds.deviceTaintRules),
    kind: kinds.deviceTaintRules.kind,
    metadata: {name, uid},
    status: {conditions: [{...condition, lastTransitionTime}]},
  };
  const rules = client.resource(kinds.deviceTaintRules);
  await unlessMissing(rules.patch(name, 'apply', intent, {subresource: 'status', fieldManager, force: true}));
  return undefined;
};
