import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {Cluster} from '#src/why/facts/cluster.js';
import {referenceTo, type Reference} from '#src/why/facts/reference.js';

/** What is looked at when the kinds of the dependents are not known. */
const usual: readonly Kind[] = [
  kinds.pods,
  kinds.replicaSets,
  kinds.deployments,
  kinds.statefulSets,
  kinds.daemonSets,
  kinds.jobs,
  kinds.services,
  kinds.persistentVolumeClaims,
  kinds.configMaps,
  kinds.secrets,
];

const ofOwners: Readonly<Record<string, readonly Kind[]>> = {
  Deployment: [kinds.replicaSets],
  ReplicaSet: [kinds.pods],
  ReplicationController: [kinds.pods],
  StatefulSet: [kinds.pods, kinds.controllerRevisions],
  DaemonSet: [kinds.pods, kinds.controllerRevisions],
  Job: [kinds.pods],
  CronJob: [kinds.jobs],
};

/** Returns a dependent of an object that is deleted in the foreground, which it waits for. */
export const dependentOf = async (self: Reference, {metadata}: KubeObject, cluster: Cluster): Promise<Reference | undefined> => {
  for (const kind of ofOwners[self.kind.kind] ?? usual) {
    const dependents = await cluster.listMetadata(kind, self.namespace ? {namespace: self.namespace} : {});
    const found = dependents.find(each =>
      each.metadata?.ownerReferences?.some(({uid, blockOwnerDeletion}) => uid === metadata?.uid && blockOwnerDeletion),
    );
    if (found) return referenceTo(kind, found);
  }
  return undefined;
};
