import type {kinds, ObjectOf} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {ObjectMeta} from '#src/api/types.js';

type Job = ObjectOf<typeof kinds.jobs>;

/** The labels a job marks its pods with: the short ones of old, and those with a domain. */
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

/** Gives a job a selector that no other job has, unless it brings its own. What is there already is left alone and judged later. */
export const generateSelector = (job: Job, naming: Naming): void => {
  const {spec, metadata} = job;
  if (!spec || spec.manualSelector) return;
  const {legacy, prefixed} = generatedLabels(metadata, naming);
  const template = (spec.template ??= {});
  template.metadata = {...template.metadata, labels: {...legacy, ...prefixed, ...template.metadata?.labels}};
  const key = naming.subKey('batch', 'controller-uid');
  spec.selector = {...spec.selector, matchLabels: {[key]: metadata?.uid ?? '', ...spec.selector?.matchLabels}};
};
