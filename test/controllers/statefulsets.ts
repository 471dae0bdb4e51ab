import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {aPlane} from './plane.js';
import {aTemplate, actionsOn} from './workloads.js';

export type StatefulSet = ObjectOf<typeof kinds.statefulSets>;
export type Spec = NonNullable<StatefulSet['spec']>;
export const labels = {app: 'a'};
export const image = (version: number): Spec['template'] => aTemplate(labels, `example.com/app:${version}`);
export const changed = (version: number) => ({spec: {template: image(version)}});

export const aSet = (name = 'web', spec: Partial<Spec> = {}): StatefulSet => ({
  metadata: {name},
  spec: {replicas: 3, serviceName: 'svc', selector: {matchLabels: labels}, template: image(1), ...spec},
});

/** A plane with these arguments, gates above all, for the server and the controller. */
export const startEnvironment = async (args: readonly string[] = []) => {
  const plane = await aPlane({
    apiserverArgs: args,
    controllers: ['serviceaccount-controller', 'statefulset-controller'],
    controllerManagerArgs: args,
  });
  const at = actionsOn(plane);
  const set = (name = 'web') => at.get(kinds.statefulSets, name);
  const change = (body: object, name = 'web') => at.patch(kinds.statefulSets, name, body);
  const isReady = ({status}: Pod) =>
    status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True') ?? false;
  /**
   * Plays the node until there is nothing more to do. Answers the names of the pods in the order in which they came to
   * run.
   */
  const play = async (until: (name: string) => boolean = () => false): Promise<string[]> => {
    const ran: string[] = [];
    for (;;) {
      const waiting = (await at.list(kinds.pods)).find(pod => !isReady(pod) && !pod.metadata?.deletionTimestamp);
      if (!waiting || until(waiting.metadata!.name!)) return ran;
      ran.push(waiting.metadata!.name!);
      await at.runs(waiting);
    }
  };
  const names = async () => (await at.list(kinds.pods)).map(({metadata}) => metadata!.name!).sort();
  const images = async () =>
    (await at.list(kinds.pods)).map(({metadata, spec}) => `${metadata?.name} ${spec?.containers[0]?.image?.split(':')[1]}`).sort();
  const revisions = async () => (await at.list(kinds.controllerRevisions)).sort((a, b) => a.revision - b.revision);
  return {plane, ...at, set, change, play, names, images, revisions};
};
