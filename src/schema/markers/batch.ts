import type {GroupMarkers} from './types.js';

/** The markers of `batch`, which its field tables do not contain. */
export const batch: GroupMarkers = {
  v1: {
    CronJobSpec: {
      '*': 'required(schedule,jobTemplate) pointers(failedJobsHistoryLimit,startingDeadlineSeconds,successfulJobsHistoryLimit,suspend,timeZone)',
    },
    CronJobStatus: {active: 'atomic'},
    JobCondition: {'*': 'required(type,status)', lastProbeTime: 'null', lastTransitionTime: 'null'},
    JobSpec: {
      '*': 'pointers(activeDeadlineSeconds,backoffLimit,backoffLimitPerIndex,completionMode,completions,managedBy,manualSelector,maxFailedIndexes,parallelism,podReplacementPolicy,suspend,ttlSecondsAfterFinished)',
    },
    JobStatus: {'*': 'pointers(failedIndexes,ready,terminating)', conditions: 'atomic patch=merge(type)'},
    PodFailurePolicy: {rules: 'atomic null'},
    PodFailurePolicyOnExitCodesRequirement: {'*': 'pointers(containerName)', values: 'set'},
    PodFailurePolicyOnPodConditionsPattern: {status: 'optional value'},
    PodFailurePolicyRule: {onPodConditions: 'atomic'},
    SuccessPolicy: {rules: 'atomic'},
    SuccessPolicyRule: {'*': 'pointers(succeededCount,succeededIndexes)'},
    UncountedTerminatedPods: {failed: 'set', succeeded: 'set'},
  },
};
