import type {ContainerStatus, Pod} from '#src/api/pod.js';
import type {ContainerInstance, PodIdentity, RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';

export const identity: PodIdentity = {uid: 'u', namespace: 'default', name: 'pod'};

type Spec = Partial<NonNullable<Pod['spec']>>;

/** A pod with one container, `app`. */
export const aPod = (spec: Spec = {}, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: {...identity, generation: 1, ...metadata},
  spec: {nodeName: 'node', restartPolicy: 'Always', containers: [{name: 'app', image: 'app'}], ...spec},
});

export const aSandbox = (fields: Partial<Sandbox> = {}): Sandbox => ({
  id: `sandbox-${fields.attempt ?? 0}`,
  pod: identity,
  attempt: 0,
  isReady: true,
  createdAt: 0,
  addresses: ['10.0.0.2'],
  usesHostNetwork: false,
  handler: '',
  annotations: {},
  ...fields,
});

/** A run of a container: `running`, `created`, `unknown`, or the exit code. */
export const aRun = (
  name: string,
  state: number | 'running' | 'created' | 'unknown' = 'running',
  fields: Partial<ContainerInstance> = {},
): ContainerInstance => ({
  id: `${name}-${fields.attempt ?? 0}`,
  sandbox: 'sandbox-0',
  pod: identity,
  name,
  attempt: 0,
  createdAt: 0,
  image: {image: name},
  imageRef: `${name}@sha256:0`,
  annotations: {},
  startedAt: 1_000,
  ...(typeof state === 'number' ? {state: 'exited', exitCode: state, finishedAt: 2_000} : {state}),
  ...fields,
});

/** What a runtime has: containers in one sandbox, newest first. */
export const aRuntime = (containers: readonly ContainerInstance[] = [], sandboxes: readonly Sandbox[] = [aSandbox()]): RuntimePod => ({
  pod: identity,
  sandboxes,
  containers,
});

/**
 * The status of a container: `running`, `started`, the reason it waits for, or its exit code; after the exit code of
 * the run before.
 */
export const aStatus = (name: string, state: string | number, before?: number): ContainerStatus => ({
  name,
  image: name,
  imageID: '',
  ready: state === 'started' || state === 0,
  started: state === 'started',
  restartCount: before === undefined ? 0 : 1,
  state:
    typeof state === 'number'
      ? {terminated: {exitCode: state}}
      : state === 'running' || state === 'started'
        ? {running: {}}
        : {waiting: {reason: state}},
  lastState: before === undefined ? {} : {terminated: {exitCode: before}},
});
