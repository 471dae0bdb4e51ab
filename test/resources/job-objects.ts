import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {aTemplate, namespace} from './workloads.js';

export type Job = ObjectOf<typeof kinds.jobs>;
export type JobSpec = NonNullable<Job['spec']>;
export const template = aTemplate({restartPolicy: 'Never'});
export const aJob = (spec: Partial<JobSpec> = {}, name = 'j'): Job => ({metadata: {name, namespace}, spec: {template, ...spec}});
export const indexed = {completionMode: 'Indexed', completions: 3};
