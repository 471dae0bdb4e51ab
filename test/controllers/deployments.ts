import {keysIn} from '#controllers/deployment/annotations.js';
import type {ReplicaSet} from '#controllers/deployment/kinds.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {isNotFound} from '#src/api/status.js';
import {isTerminal} from '#src/model/pod/state.js';
import {aPlaneWith, aTemplate, actionsOn} from './workloads.js';

export type Made = ObjectOf<typeof kinds.deployments>;
export type Spec = NonNullable<Made['spec']>;

export const keys = keysIn(naming('plat'));
export const labels = {app: 'a'};
export const image = (version: number): Spec['template'] => aTemplate(labels, `example.com/app:${version}`);
export const changed = (version: number) => ({spec: {template: image(version)}});

export const aDeployment = (name: string, spec: Partial<Spec> = {}): Made => ({
  metadata: {name},
  spec: {replicas: 3, selector: {matchLabels: labels}, template: image(1), ...spec},
});

const unlessGone = (error: unknown): void => {
  if (!isNotFound(error)) throw error;
};

export const startEnvironment = async (args: readonly string[] = []) => {
  const plane = await aPlaneWith(['deployment-controller', 'replicaset-controller'], args);
  const at = actionsOn(plane);
  const deployment = (name = 'web') => at.get(kinds.deployments, name);
  const change = (body: object, name = 'web') => at.patch(kinds.deployments, name, body);
  const sets = async () => (await at.list(kinds.replicaSets)).sort((a, b) => revision(a) - revision(b));
  /** Acts as the node until nothing is left to do: every pod runs and is ready, and terminating ones are gone. */
  const play = async () => {
    for (let busy = true; busy;) {
      const waiting = (await at.list(kinds.pods)).filter(
        pod => !isTerminal(pod) && !pod.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True'),
      );
      // A step of the rollout may delete a pod that is not ready meanwhile.
      for (const pod of waiting) if (!pod.metadata?.deletionTimestamp) await at.runs(pod).catch(unlessGone);
      busy = waiting.length > 0;
    }
  };
  return {plane, ...at, deployment, change, sets, play};
};
export type Environment = Awaited<ReturnType<typeof startEnvironment>>;

export const revision = ({metadata}: {metadata?: {annotations?: Record<string, string>}}): number =>
  Number(metadata?.annotations?.[keys.revision]);
export const sizes = async (at: Pick<Environment, 'sets'>) => (await at.sets()).map(({spec}) => spec?.replicas);
export const conditions = async (at: Pick<Environment, 'deployment'>) =>
  Object.fromEntries(
    ((await at.deployment()).status?.conditions ?? []).map(({type, status, reason, message}) => [type, `${status} ${reason} ${message}`]),
  );

export const sized = (name: string, replicas: number, most?: number): ReplicaSet => ({
  metadata: {name, ...(most === undefined ? {} : {annotations: {[keys.maxReplicas]: String(most)}})},
  spec: {replicas, selector: {}},
});
