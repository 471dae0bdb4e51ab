import {kinds} from '#src/api/kinds/index.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {compareQuantities, formatQuantity, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {wireTime} from '#src/api/time.js';
import {claimedStorage, storageCapacity, type Claim, type Volume} from '#src/model/volumes.js';
import {Expected, settled, type Result} from '#src/runtime/controller.js';
import {isOwn, targetOf, type DriverContext} from './context.js';

type ClaimStatus = NonNullable<Claim['status']>;

const storageOf = ({status}: Frozen<Claim>) => (status?.capacity?.['storage'] ? parseQuantity(status.capacity['storage']) : zeroQuantity);

/**
 * Expands volumes of the driver to the requests of their claims, and applies volume attributes classes, like the
 * external-resizer.
 */
export const claimResizer = (context: DriverContext): ((claim: Frozen<Claim>, key: string) => Promise<Result>) => {
  const {client, clock, driver, events, naming, steps, volumes} = context;
  const [claims, persistentVolumes] = [client.resource(kinds.persistentVolumeClaims), client.resource(kinds.persistentVolumes)];

  const setStatus = (claim: Frozen<Claim>, status: ClaimStatus): Promise<Claim> =>
    claims.update({...copyOf<Claim>(claim), status}, {subresource: 'status'});
  /** Returns the status without the fields of an expansion. */
  const plain = ({status}: Frozen<Claim>): ClaimStatus => {
    const {allocatedResources: _, allocatedResourceStatuses: __, conditions = [], ...rest} = structuredClone(status ?? {}) as ClaimStatus;
    const others = conditions.filter(({type}) => !['Resizing', 'FileSystemResizePending', 'ControllerResizeError'].includes(type));
    return {...rest, ...(others.length > 0 ? {conditions: others} : {})};
  };

  const begin = (claim: Frozen<Claim>, size: string): Promise<Claim> =>
    setStatus(claim, {
      ...plain(claim),
      allocatedResources: {storage: size},
      allocatedResourceStatuses: {storage: 'ControllerResizeInProgress'},
      conditions: [...(plain(claim).conditions ?? []), {type: 'Resizing', status: 'True', lastTransitionTime: wireTime(clock.now())}],
    });

  const expand = async (claim: Frozen<Claim>, volume: Frozen<Volume>, key: string): Promise<Result> => {
    const size = formatQuantity(claimedStorage(claim));
    const name = volume.metadata?.name;
    if (claim.status?.allocatedResources?.['storage'] !== size) {
      await begin(claim, size);
      events.normal(claim, 'Resizing', `External resizer is resizing volume ${name}`);
      return settled; // The update triggers another reconcile.
    }
    const {again, error} = steps.take(key, 'expand', targetOf(volume, naming));
    if (again) return again;
    if (error) {
      events.warning(
        claim,
        'VolumeResizeFailed',
        `resize volume ${JSON.stringify(name)} by resizer ${JSON.stringify(driver)} failed: ${error.message}`,
      );
      throw new Expected(error.message);
    }
    if (compareQuantities(storageCapacity(volume), claimedStorage(claim)) < 0)
      await persistentVolumes.patch(name ?? '', 'merge', {spec: {capacity: {storage: size}}});
    await setStatus(claim, {...plain(claim), capacity: {...claim.status?.capacity, storage: size}});
    events.normal(claim, 'VolumeResizeSuccessful', 'Resize volume succeeded');
    return settled;
  };

  const modify = async (claim: Frozen<Claim>, volume: Frozen<Volume>, attributes: string): Promise<void> => {
    await persistentVolumes.patch(volume.metadata?.name ?? '', 'merge', {spec: {volumeAttributesClassName: attributes}});
    await setStatus(claim, {
      ...(structuredClone(claim.status) as ClaimStatus),
      currentVolumeAttributesClassName: attributes,
    } as ClaimStatus);
    events.normal(
      claim,
      'VolumeModifySuccessful',
      `External resizer modified volume ${volume.metadata?.name} with vac ${attributes} successfully`,
    );
  };

  return async (claim, key) => {
    const volume = volumes.get(claim.spec?.volumeName ?? '');
    if (!volume || !isOwn(volume, driver) || claim.status?.phase !== 'Bound' || claim.metadata?.deletionTimestamp) {
      steps.forget(key, 'expand');
      return settled;
    }
    const {volumeAttributesClassName: attributes} = claim.spec as {volumeAttributesClassName?: string};
    const {currentVolumeAttributesClassName: current} = claim.status as {currentVolumeAttributesClassName?: string};
    if (attributes && attributes !== current) {
      await modify(claim, volume, attributes);
      return settled;
    }
    if (compareQuantities(claimedStorage(claim), storageOf(claim)) > 0) return expand(claim, volume, key);
    steps.forget(key, 'expand');
    return settled;
  };
};
