// The types of the tutorial's CronJob, from which `plat generate crds examples/cronjobs/types.ts` makes the definition
// that controller-gen makes of the Go types. The operator beside it has fields of its own.
import {customKind, type Condition, type KubeObject} from '@platio/plat/operator';
import type {JobTemplateSpec, ObjectReference} from '@platio/plat/operator/kinds';

/** What happens if a run is due while another is active. */
export type ConcurrencyPolicy = (typeof concurrencyPolicies)[number];
const concurrencyPolicies = ['Allow', 'Forbid', 'Replace'] as const;

export interface CronJobSpec {
  /** @minLength 0 */
  schedule: string;
  /**
   * @format int64
   * @minimum 0
   */
  startingDeadlineSeconds?: number;
  /** @default "Allow" */
  concurrencyPolicy?: ConcurrencyPolicy;
  suspend?: boolean;
  jobTemplate: JobTemplateSpec;
  /**
   * @format int32
   * @minimum 0
   */
  successfulJobsHistoryLimit?: number;
  /**
   * @format int32
   * @minimum 0
   */
  failedJobsHistoryLimit?: number;
}

export interface CronJobStatus {
  /**
   * @listType atomic
   * @minItems 1
   * @maxItems 10
   */
  active?: ObjectReference[];
  lastScheduleTime?: Date;
  /**
   * @listType map
   * @mapKey type
   */
  conditions?: Condition[];
}

/** @subresource status */
export interface CronJob extends KubeObject {
  spec: CronJobSpec;
  status?: CronJobStatus;
}

export const CronJob = customKind<CronJob>({group: 'batch.tutorial.kubebuilder.io', version: 'v1', kind: 'CronJob', plural: 'cronjobs'});
