import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

export const namespace = 'default';
const labels = {app: 'a'};

export type Deployment = ObjectOf<typeof kinds.deployments>;
type Template = NonNullable<Deployment['spec']>['template'];

/** A template that any workload may have. */
export const aTemplate = (more: Partial<NonNullable<Template['spec']>> = {}): Template => ({
  metadata: {labels},
  spec: {
    containers: [{name: 'c', image: 'example.com/image:1', terminationMessagePolicy: 'File', imagePullPolicy: 'IfNotPresent'}],
    ...more,
  },
});

/** Whatever a workload of these kinds needs at least. */
export const aSpec = () => ({selector: {matchLabels: labels}, template: aTemplate()});
