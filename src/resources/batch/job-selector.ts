import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {ObjectMeta} from '#src/api/types.js';

type Job = ObjectOf<typeof kinds.jobs>;

/** Returns the labels of a job's pods: the legacy ones and the prefixed ones. */
export const generatedLabels = (
  metadata: ObjectMeta | undefined,
  naming: Naming,
): {readonly legacy: Readonly<Record<string, string>>; readonly prefixed: Readonly<Record<string, string>>} => {
  const [uid, name] = [metadata?.uid ?? '', metadata?.name ?? ''];
  return {
    legacy: {'controller-uid': uid, 'job-name': name},
    prefixed: {[naming.subKey('batch', 'controller-uid')]: uid, [naming.subKey('batch', 'job-name')]: name},
  };
};

/** Generates a unique selector for a job without a manual one. Existing values are kept and validated later. */
export const generateSelector = (job: Job, naming: Naming): void => {
  const {spec, metadata} = job;
  if (!spec || spec.manualSelector) return;
  const {legacy, prefixed} = generatedLabels(metadata, naming);
  const template = (spec.template ??= {});
  template.metadata = {...template.metadata, labels: {...legacy, ...prefixed, ...template.metadata?.labels}};
  const key = naming.subKey('batch', 'controller-uid');
  spec.selector = {...spec.selector, matchLabels: {[key]: metadata?.uid ?? '', ...spec.selector?.matchLabels}};
};
