import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {newest, type Cluster} from '#src/why/facts/cluster.js';
import {becauseOf, conditionOf} from '#src/why/facts/conditions.js';
import {subject, type Finding, type Rule} from '#src/why/facts/finding.js';
import {referenceTo} from '#src/why/facts/reference.js';

type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;
type StorageClass = ObjectOf<typeof kinds.storageClasses>;

const lost: Rule<Claim> = claim =>
  claim.status?.phase === 'Lost'
    ? {
        rule: 'volume-lost',
        sentence: `its volume ${claim.spec?.volumeName} does not exist any more`,
        ends: 'Nothing ends it: the data are gone with the volume. Delete the claim, and create another one.',
      }
    : undefined;

/** A claim for a volume that it names. */
const named: Rule<Claim> = async (claim, cluster) => {
  const name = claim.spec?.volumeName;
  if (!name || claim.status?.phase !== 'Pending') return undefined;
  const {found, isAbsent} = await cluster.look(kinds.persistentVolumes, name);
  if (isAbsent)
    return {
      rule: 'volume-missing',
      sentence: `it asks for the volume ${name}, which does not exist`,
      since: claim.metadata?.creationTimestamp,
      ends: `The creation of the volume ${name}.`,
    };
  const other = found?.spec?.claimRef;
  if (!other || (other.name === claim.metadata?.name && other.namespace === claim.metadata?.namespace)) return undefined;
  return {
    rule: 'volume-taken',
    sentence: `it asks for the volume ${name}, which belongs to the claim ${other.namespace}/${other.name}`,
    since: claim.metadata?.creationTimestamp,
    ends: 'A claim for another volume.',
  };
};

const isDefault = ({metadata}: StorageClass): boolean =>
  Object.entries(metadata?.annotations ?? {}).some(([key, value]) => key.endsWith('/is-default-class') && value === 'true');

const withoutClass = async (claim: Claim, cluster: Cluster): Promise<Finding> => {
  const isStatic = claim.spec?.storageClassName === '';
  const hasDefault = !isStatic && (await cluster.list(kinds.storageClasses)).some(isDefault);
  return {
    rule: hasDefault ? 'storage-class' : 'no-volume',
    sentence: isStatic
      ? 'no volume without a class matches its size, access modes and selector'
      : 'it has no storage class, there is no default one, and no volume without a class matches it',
    since: claim.metadata?.creationTimestamp,
    ends: isStatic ? 'A volume that matches.' : 'A volume that matches, or a default storage class.',
  };
};

/** A claim whose volume is made when the first pod that uses it is placed. */
const waitsForConsumer = async (claim: Claim, storageClass: StorageClass, cluster: Cluster): Promise<Finding | undefined> => {
  const {annotations = {}, name = '', namespace = ''} = claim.metadata ?? {};
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return undefined;
  if (Object.keys(annotations).some(key => key.endsWith('/selected-node'))) return undefined;
  const users = (await cluster.list(kinds.pods, {namespace})).filter(({spec}) =>
    spec?.volumes?.some(({persistentVolumeClaim}) => persistentVolumeClaim?.claimName === name),
  );
  const [pod] = users;
  return {
    rule: 'first-consumer',
    sentence: `its class ${storageClass.metadata?.name} makes volumes when the first pod that uses them is placed (WaitForFirstConsumer), and ${pod ? `the pod ${pod.metadata?.name} is not placed` : 'no pod uses it'}`,
    since: claim.metadata?.creationTimestamp,
    ends: pod ? `The pod ${pod.metadata?.name}, once the scheduler has a node for it.` : 'A pod that uses it.',
    next: pod && referenceTo(kinds.pods, pod),
  };
};

/** Whether a driver has said that it is there: a CSIDriver, or a node that has it. */
const hasDriver = async (driver: string, cluster: Cluster): Promise<boolean> => {
  if (await cluster.get(kinds.csiDrivers, driver)) return true;
  const nodes = await cluster.list(kinds.csiNodes);
  return nodes.some(({spec}) => spec.drivers.some(({name}) => name === driver));
};

const provisioning = async (claim: Claim, storageClass: StorageClass, cluster: Cluster): Promise<Finding> => {
  const {provisioner, metadata} = storageClass;
  const events = await cluster.events(kinds.persistentVolumeClaims, claim);
  const failure = newest(events, 'ProvisioningFailed');
  const since = failure?.first ?? claim.metadata?.creationTimestamp;
  if (provisioner.endsWith('/no-provisioner'))
    return {
      rule: 'no-volume',
      sentence: `its class ${metadata?.name} provisions no volumes, and none of those there are matches it`,
      since,
      ends: `A volume of the class ${metadata?.name} that matches its size, access modes and selector.`,
    };
  if (failure)
    return {
      rule: 'provisioning',
      sentence: `its volume cannot be provisioned: ${failure.message}`,
      since,
      ends: `The provisioner ${provisioner}, once it succeeds; it tries again.`,
    };
  const isThere = await hasDriver(provisioner, cluster);
  return {
    rule: 'provisioner',
    sentence: isThere
      ? `the provisioner ${provisioner} has not made its volume`
      : `its class ${metadata?.name} is of the provisioner ${provisioner}, of which nothing is seen in the cluster`,
    since,
    ends: isThere ? `The provisioner ${provisioner}, once it has made the volume.` : `A driver ${provisioner} that is installed and runs.`,
  };
};

const pending: Rule<Claim> = async (claim, cluster) => {
  if (claim.status?.phase === 'Bound' || claim.status?.phase === 'Lost') return undefined;
  const name = claim.spec?.storageClassName;
  if (!name) return withoutClass(claim, cluster);
  const {found, isAbsent} = await cluster.look(kinds.storageClasses, name);
  if (isAbsent)
    return {
      rule: 'storage-class',
      sentence: `its storage class ${name} does not exist, and no volume of it matches`,
      since: claim.metadata?.creationTimestamp,
      ends: `The creation of the storage class ${name}, or of a volume of this class.`,
    };
  if (!found) return undefined;
  return (await waitsForConsumer(claim, found, cluster)) ?? provisioning(claim, found, cluster);
};

const resizing: Rule<Claim> = claim => {
  const types = ['ControllerResizeError', 'NodeResizeError', 'FileSystemResizePending', 'Resizing', 'ModifyVolumeError', 'ModifyingVolume'];
  const found = types.map(type => conditionOf(claim, type)).find(condition => condition?.status === 'True');
  if (!found) return undefined;
  return {
    rule: 'resize',
    sentence: `its volume does not have its new form yet: ${found.type}${found.message ? ` (${becauseOf(found)})` : ''}`,
    since: found.lastTransitionTime,
    ends:
      found.type === 'FileSystemResizePending'
        ? 'A pod that uses it: its node resizes the file system.'
        : 'The driver of the volume; it tries again.',
  };
};

export const claimSubject = subject<Claim>({
  rules: [lost, named, pending, resizing],
  rest: ({spec, status}) => `it is bound to the volume ${spec?.volumeName} of ${status?.capacity?.['storage']}`,
});
