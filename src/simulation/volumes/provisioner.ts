import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import {classOf, isDelayedBinding, volumeAnnotations, type Claim, type StorageClass, type Volume} from '#src/model/volumes.js';
import {Expected, requeueAfter, settled, type Reconcile, type Result} from '#src/runtime/controller.js';
import {isOwn, targetOf, type DriverContext} from './context.js';

/** The delay before a missing data source, or a volume in use, is checked again. */
const retryMs = 1_000;

/** The finalizer that keeps a volume until its storage is deleted. */
const finalizerOf = ({naming}: DriverContext): string => `external-provisioner.${naming.subKey('volume', 'finalizer')}`;

/**
 * The topology of a volume: accessible everywhere, or with the class parameter `topology` only from its node or zone.
 */
const affinityOf = ({naming, nodes}: DriverContext, {parameters}: Frozen<StorageClass>, node: string | undefined) => {
  const key = {node: naming.labels.hostname, zone: naming.subKey('topology', 'zone')}[parameters?.['topology'] ?? ''];
  const value = key && node ? nodes.get(node)?.metadata?.labels?.[key] : undefined;
  return key && value
    ? {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key, operator: 'In', values: [value]}]}]}}}
    : {};
};

const volumeFor = (context: DriverContext, claim: Frozen<Claim>, storageClass: Frozen<StorageClass>): Volume => {
  const {naming, driver} = context;
  const {provisionedBy, selectedNode} = volumeAnnotations(naming);
  const {namespace = '', name = '', uid = '', resourceVersion = '', annotations} = claim.metadata ?? {};
  const {accessModes = [], resources, volumeMode = 'Filesystem'} = claim.spec ?? {};
  const {volumeAttributesClassName} = claim.spec as {volumeAttributesClassName?: string};
  const kind = kinds.persistentVolumeClaims;
  const isDeleted = (storageClass.reclaimPolicy ?? 'Delete') === 'Delete';
  return {
    metadata: {
      name: `pvc-${uid}`,
      annotations: {[provisionedBy]: driver},
      ...(isDeleted ? {finalizers: [finalizerOf(context)]} : {}),
    },
    spec: {
      accessModes: [...accessModes],
      capacity: {storage: resources?.requests?.['storage'] ?? '0'},
      volumeMode,
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: classOf(claim, naming),
      ...(storageClass.mountOptions?.length ? {mountOptions: [...storageClass.mountOptions]} : {}),
      ...(volumeAttributesClassName ? {volumeAttributesClassName} : {}),
      csi: {driver, volumeHandle: `pvc-${uid}`},
      claimRef: {kind: kind.kind, apiVersion: apiVersionOf(naming, kind), namespace, name, uid, resourceVersion},
      ...affinityOf(context, storageClass, annotations?.[selectedNode]),
    } as NonNullable<Volume['spec']>,
  };
};

/** Returns the storage class of a claim that this driver has to provision now. */
const classToProvision = (context: DriverContext, claim: Frozen<Claim> | undefined): Frozen<StorageClass> | undefined => {
  const {naming, driver, classes, volumes} = context;
  if (!claim || claim.metadata?.deletionTimestamp || claim.spec?.volumeName) return undefined;
  const annotations = claim.metadata?.annotations ?? {};
  const {provisioner, selectedNode} = volumeAnnotations(naming);
  const storageClass = classes.get(classOf(claim, naming));
  if (annotations[provisioner] !== driver || storageClass?.provisioner !== driver) return undefined;
  if (isDelayedBinding(storageClass) && annotations[selectedNode] === undefined) return undefined;
  return volumes.get(`pvc-${claim.metadata?.uid}`) ? undefined : storageClass;
};

/** Returns why the data source of a claim cannot be used: only bound claims can be cloned. */
const missingSource = ({claims}: DriverContext, {metadata, spec}: Frozen<Claim>): string | undefined => {
  const source = spec?.dataSourceRef ?? spec?.dataSource;
  if (!source) return undefined;
  const title = `error getting handle for DataSource Type ${source.kind} by Name ${source.name}`;
  if (source.kind !== 'PersistentVolumeClaim') return `${title}: the simulated driver copies claims only`;
  const from = claims.get({namespace: (source as {namespace?: string}).namespace ?? metadata?.namespace ?? '', name: source.name});
  if (!from) return `${title}: claim not found`;
  return from.status?.phase === 'Bound' ? undefined : `${title}: the claim is not bound`;
};

/** Provisions volumes for claims of the driver, like the external-provisioner. */
export const claimProvisioner = (context: DriverContext): ((claim: Frozen<Claim> | undefined, key: string) => Promise<Result>) => {
  const {client, events, steps, naming} = context;
  const {selectedNode} = volumeAnnotations(naming);
  const fail = (claim: Frozen<Claim>, storageClass: Frozen<StorageClass>, why: string): never => {
    events.warning(
      claim,
      'ProvisioningFailed',
      `failed to provision volume with StorageClass ${JSON.stringify(storageClass.metadata?.name)}: ${why}`,
    );
    throw new Expected(why);
  };
  return async (claim, key) => {
    const storageClass = classToProvision(context, claim);
    if (!claim || !storageClass) {
      steps.forget(key, 'provision');
      return settled;
    }
    const lacking = missingSource(context, claim);
    if (lacking) fail(claim, storageClass, lacking);
    const {namespace = '', name = '', annotations} = claim.metadata ?? {};
    const target = {namespace, claim: name, storageClass: classOf(claim, naming), node: annotations?.[selectedNode] ?? ''};
    const {again, isNew, error} = steps.take(key, 'provision', target);
    if (isNew) events.normal(claim, 'Provisioning', `External provisioner is provisioning volume for claim "${namespace}/${name}"`);
    if (again) return again;
    if (error) fail(claim, storageClass, error.message);
    const volume = volumeFor(context, claim, storageClass);
    try {
      await client.resource(kinds.persistentVolumes).create(volume);
    } catch (failure) {
      if (!isAlreadyExists(failure)) throw failure;
    }
    events.normal(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volume.metadata?.name}`);
    return settled;
  };
};

/** Deletes released volumes of the driver, like the external-provisioner. */
export const volumeDeleter = (context: DriverContext): Reconcile => {
  const {client, driver, events, naming, steps, volumes, attachments} = context;
  const {provisionedBy} = volumeAnnotations(naming);
  const finalizer = finalizerOf(context);
  return async ({name}) => {
    const volume = volumes.get(name);
    const isReleased = volume?.status?.phase === 'Released' && volume.spec?.persistentVolumeReclaimPolicy === 'Delete';
    if (!volume || !isReleased || !isOwn(volume, driver) || volume.metadata?.annotations?.[provisionedBy] !== driver) {
      steps.forget(name, 'delete');
      return settled;
    }
    const user = attachments.list().find(({spec}) => spec.source.persistentVolumeName === name);
    if (user) {
      events.warning(volume, 'VolumeFailedDelete', `persistentvolume ${name} is still attached to node ${user.spec.nodeName}`);
      return requeueAfter(retryMs);
    }
    const {again, error} = steps.take(name, 'delete', targetOf(volume, naming));
    if (again) return again;
    if (error) {
      events.warning(volume, 'VolumeFailedDelete', error.message);
      throw error;
    }
    const resource = client.resource(kinds.persistentVolumes);
    try {
      await resource.delete(name);
      if (!volume.metadata?.finalizers?.includes(finalizer)) return settled;
      const changed = copyOf<Volume>(await resource.get(name));
      changed.metadata = {...changed.metadata, finalizers: changed.metadata?.finalizers?.filter(each => each !== finalizer) ?? []};
      await resource.update(changed);
    } catch (failure) {
      if (!isNotFound(failure)) throw failure;
    }
    return settled;
  };
};
