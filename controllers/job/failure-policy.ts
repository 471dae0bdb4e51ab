import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus} from '#src/api/pod.js';
import type {CachedJob, CachedPod} from './kinds.js';

type Policy = NonNullable<NonNullable<CachedJob['spec']>['podFailurePolicy']>;
type Rule = Policy['rules'][number];

const failureActions = ['Ignore', 'Count', 'FailIndex', 'FailJob'] as const;

export type FailureAction = (typeof failureActions)[number];

/** The result of the policy for a failed pod. */
export interface FailureMatch {
  readonly action: FailureAction;
  /** Why the whole job fails, if it does. */
  readonly failsJob?: string;
}

const isMet = ({operator, values}: NonNullable<Rule['onExitCodes']>, code: number): boolean =>
  operator === 'In' ? values.includes(code) : operator === 'NotIn' && !values.includes(code);

/** Returns the first failed container that matches the rule. Running containers have no exit code. */
const endedContainer = ({status}: CachedPod, {onExitCodes}: Rule): Frozen<ContainerStatus> | undefined => {
  if (!onExitCodes) return undefined;
  return [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find(({name, state}) => {
    const code = state?.terminated?.exitCode ?? 0;
    return code !== 0 && (onExitCodes.containerName === undefined || onExitCodes.containerName === name) && isMet(onExitCodes, code);
  });
};

const metCondition = ({status}: CachedPod, {onPodConditions = []}: Rule): string | undefined =>
  status?.conditions?.find(({type, status: said}) => onPodConditions.some(pattern => pattern.type === type && pattern.status === said))
    ?.type;

/** Returns why the pod matches the rule; undefined if it does not. */
const reasonOf = (rule: Rule, pod: CachedPod): string | undefined => {
  const name = `${pod.metadata?.namespace}/${pod.metadata?.name}`;
  if (rule.onExitCodes) {
    const container = endedContainer(pod, rule);
    return container && `Container ${container.name} for pod ${name} failed with exit code ${container.state?.terminated?.exitCode}`;
  }
  const type = metCondition(pod, rule);
  return type && `Pod ${name} has condition ${type}`;
};

/** The first matching rule applies (KEP-3329). Rules with unknown actions, as of a newer server, are skipped. */
export const matchFailure = ({spec}: CachedJob, pod: CachedPod): FailureMatch | undefined => {
  for (const [index, rule] of (spec?.podFailurePolicy?.rules ?? []).entries()) {
    const reason = reasonOf(rule, pod);
    const action = failureActions.find(each => each === rule.action);
    if (reason === undefined || !action) continue;
    return action === 'FailJob' ? {action, failsJob: `${reason} matching ${action} rule at index ${index}`} : {action};
  }
  return undefined;
};

/** Whether the failure counts towards a limit. */
export const counts = (match: FailureMatch | undefined): boolean => match?.action !== 'Ignore';
