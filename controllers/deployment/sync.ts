import type {Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Lister} from '#informers/lister.js';
import type {Clock} from '#src/base/clock.js';
import type {ResourceClient} from '#src/client/client.js';
import type {Naming} from '#src/api/naming.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Writer} from '#src/runtime/writer.js';
import {annotationsOf, type AnnotationKeys} from './annotations.js';
import type {Deployment, DeploymentStatus, ReplicaSet} from './kinds.js';
import {byAge, newestOf} from './replica-sets.js';

/** What every sync uses. */
export interface DeploymentContext {
  readonly deployments: Writer<ObjectOf<typeof kinds.deployments>>;
  readonly sets: Writer<ObjectOf<typeof kinds.replicaSets>>;
  readonly liveSets: ResourceClient<ObjectOf<typeof kinds.replicaSets>>;
  readonly pods: Lister<Pod>;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly naming: Naming;
  readonly keys: AnnotationKeys;
  readonly reportsTerminating: boolean;
}

/** The state of one sync: the deployment and its replica sets, updated with each write. */
export class DeploymentSync {
  readonly context: DeploymentContext;
  deployment: Deployment;
  newest: ReplicaSet | undefined;
  /** All but the newest, the oldest first. */
  old: readonly ReplicaSet[];

  constructor(context: DeploymentContext, deployment: Deployment, sets: readonly ReplicaSet[]) {
    this.context = context;
    this.deployment = deployment;
    const inOrder = [...sets].sort(byAge);
    this.newest = newestOf(deployment, inOrder);
    this.old = inOrder.filter(set => set !== this.newest);
  }

  /** All sets, the newest last. */
  get all(): readonly ReplicaSet[] {
    return [...this.old, ...(this.newest ? [this.newest] : [])];
  }

  get now(): number {
    return this.context.clock.now();
  }

  /** Writes a replica set and stores the server's response. */
  async updateSet(set: ReplicaSet): Promise<ReplicaSet> {
    const updated = await this.context.sets.update(set as ObjectOf<typeof kinds.replicaSets>);
    const {uid} = set.metadata ?? {};
    if (this.newest?.metadata?.uid === uid) this.newest = updated;
    else this.old = this.old.map(each => (each.metadata?.uid === uid ? updated : each));
    return updated;
  }

  /** Writes status and annotations of the deployment and stores the server's response. */
  async updateStatus(
    status: DeploymentStatus,
    annotations: Frozen<Record<string, string>> = annotationsOf(this.deployment),
  ): Promise<void> {
    const next = {...this.deployment, metadata: {...this.deployment.metadata, annotations}, status};
    this.deployment = await this.context.deployments.updateStatus(next as ObjectOf<typeof kinds.deployments>);
  }
}
