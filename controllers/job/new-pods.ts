import type {Frozen} from '#src/api/key.js';
import type {Container, PodTemplateSpec} from '#src/api/pod.js';
import type {CachedJob, CachedPod, JobNames} from './kinds.js';
import {limitPerIndex} from './kinds.js';
import {failureAnnotations} from './per-index.js';

const indexVariable = 'JOB_COMPLETION_INDEX';
/** A generated name has five more characters and must fit in a label. */
const maxPrefixLength = 58;

/** Returns the name prefix of an index's pods: the job's name is truncated, the index is not. */
export const indexedPrefix = (job: string, index: number): string => {
  const ending = `-${index}-`;
  return `${job.slice(0, maxPrefixLength - ending.length)}${ending}`;
};

const withIndexVariable = (container: Frozen<Container>, {index}: JobNames): Frozen<Container> =>
  container.env?.some(({name}) => name === indexVariable)
    ? container
    : {
        ...container,
        env: [...(container.env ?? []), {name: indexVariable, valueFrom: {fieldRef: {fieldPath: `metadata.labels['${index}']`}}}],
      };

/** Returns the template of a job's pods, with the tracking finalizer. */
export const trackedTemplate = ({spec}: CachedJob, {finalizer}: JobNames): Frozen<PodTemplateSpec> => {
  const template = spec?.template ?? {};
  const {finalizers = []} = template.metadata ?? {};
  return {
    ...template,
    metadata: {...template.metadata, finalizers: finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer]},
  };
};

/** Returns the template of an indexed job's pod, which replaces `replaced` if set. */
export const indexedTemplate = (
  job: CachedJob,
  index: number,
  replaced: CachedPod | undefined,
  marks: JobNames,
): Frozen<PodTemplateSpec> => {
  const {metadata, spec} = trackedTemplate(job, marks);
  const own = {[marks.index]: String(index)};
  const failures = limitPerIndex(job) === undefined ? {} : failureAnnotations(job, replaced, marks);
  return {
    metadata: {...metadata, labels: {...metadata?.labels, ...own}, annotations: {...metadata?.annotations, ...own, ...failures}},
    spec: {
      ...spec!,
      hostname: `${job.metadata?.name}-${index}`,
      containers: spec!.containers.map(container => withIndexVariable(container, marks)),
      ...(spec!.initContainers ? {initContainers: spec!.initContainers.map(container => withIndexVariable(container, marks))} : {}),
    },
  };
};
