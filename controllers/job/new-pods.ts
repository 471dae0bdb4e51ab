import type {Frozen} from '#src/api/key.js';
import type {Container, PodTemplateSpec} from '#src/api/pod.js';
import type {CachedJob, CachedPod, JobNames} from './kinds.js';
import {limitPerIndex} from './kinds.js';
import {failureAnnotations} from './per-index.js';

const indexVariable = 'JOB_COMPLETION_INDEX';
/** Names made from a prefix have five more characters, and fit into a label. */
const maxPrefixLength = 58;

/** The beginning of the names of an index's pods: the job's name is cut so that the index stays. */
export const indexedPrefix = (job: string, index: number): string => {
  const ending = `-${index}-`;
  return `${job.slice(0, maxPrefixLength - ending.length)}${ending}`;
};

const withIndexVariable = (container: Frozen<Container>, {index}: JobNames): Frozen<Container> =>
  container.env?.some(({name}) => name === indexVariable)
    ? container
    : {...container, env: [...(container.env ?? []), {name: indexVariable, valueFrom: {fieldRef: {fieldPath: `metadata.labels['${index}']`}}}]};

/** The template of a job's pods: each is kept until it has been counted. */
export const trackedTemplate = ({spec}: CachedJob, {finalizer}: JobNames): Frozen<PodTemplateSpec> => {
  const template = spec?.template ?? {};
  const {finalizers = []} = template.metadata ?? {};
  return {...template, metadata: {...template.metadata, finalizers: finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer]}};
};

/** The template of an indexed job's pod, which takes the place of `replaced` if there is one. */
export const indexedTemplate = (job: CachedJob, index: number, replaced: CachedPod | undefined, marks: JobNames): Frozen<PodTemplateSpec> => {
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
