import type {GroupFacts} from './form.js';

/** What the field tables of `batch` do not say by themselves. */
export const batch: GroupFacts = {
  v1: {
    CronJobSpec: {'*': 'required(schedule,jobTemplate)'},
    CronJobStatus: {active: 'atomic'},
    JobCondition: {'*': 'required(type,status)'},
    JobStatus: {conditions: 'atomic patch=merge(type)'},
    PodFailurePolicy: {rules: 'atomic'},
    PodFailurePolicyOnExitCodesRequirement: {values: 'set'},
    PodFailurePolicyOnPodConditionsPattern: {status: 'optional value'},
    PodFailurePolicyRule: {onPodConditions: 'atomic'},
    SuccessPolicy: {rules: 'atomic'},
    UncountedTerminatedPods: {failed: 'set', succeeded: 'set'},
  },
};
